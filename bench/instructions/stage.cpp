#include "stage.h"

#include <cstdio>

extern "C" [[gnu::noinline]] void tapml_counted_stage(const std::function<void()>& work) { work(); }

namespace tapml::bench {

void stage(const std::string& name, const std::function<void()>& work) {
  tapml_counted_stage(work);
  std::printf("%s\n", name.c_str());
  std::fflush(stdout);
}

}  // namespace tapml::bench
