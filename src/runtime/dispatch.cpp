#include "runtime/dispatch.h"

namespace tapml::runtime {

Result<std::vector<bool>> dispatched_sites(const Executable& executable,
                                           const DispatchPlan& plan) noexcept {
  const auto count = executable.call_sites.size();
  std::vector<bool> sites(count);
  for (const int32_t site : plan.sites) {
    if (site < 0 || static_cast<size_t>(site) >= count) {
      return fail(user_error("the dispatch plan names a call site that the executable lacks",
                             "the dispatch plan", "a number below " + std::to_string(count),
                             std::to_string(site)));
    }
    sites[static_cast<size_t>(site)] = true;
  }
  return sites;
}

}  // namespace tapml::runtime
