#include "cli/kernel_progress.h"

#include "base/host/interrupt.h"
#include "ir/exceptions.h"

namespace tapml::cli {

std::function<void(const std::string& step, int64_t done, int64_t total)> kernel_progress(
    Progress& progress, const std::string& phase) {
  return [&progress, phase, stepping = false](const std::string& step, int64_t done,
                                              int64_t total) mutable {
    unwrap(check_interrupted());
    if (total == 0 || done == total) {
      stepping = false;
      if (total == 0) progress.begin(step);
      if (total != 0) progress.end(std::to_string(total) + " kernels");
      return;
    }
    if (!stepping) progress.begin(phase.empty() ? step.substr(0, step.find(' ')) : phase, total);
    stepping = true;
    progress.step(step);
  };
}

}  // namespace tapml::cli
