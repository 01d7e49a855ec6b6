#include "ir/module.h"

namespace tapml {

std::string Module::unique_name(const std::string& base) const {
  if (!functions.contains(base)) return base;
  for (int i = 1;; ++i) {
    std::string name = base + "_" + std::to_string(i);
    if (!functions.contains(name)) return name;
  }
}

}  // namespace tapml
