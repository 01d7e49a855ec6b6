#include "pipeline/instruments.h"

#include <algorithm>

namespace tapml::pipeline {

bool is_skipped(const Instruments& instruments, const std::string& pass) {
  return std::ranges::find(instruments.skip, pass) != instruments.skip.end();
}

}  // namespace tapml::pipeline
