#include "topdown/results/call_groups.h"

#include <algorithm>

namespace tapml::topdown {

CallGroup& group_of(std::vector<CallGroup>& groups, const SuiteCall& call) {
  const auto found = std::ranges::find_if(groups, [&](const CallGroup& group) {
    return group.function == call.function && group.origin.layers == call.origin.layers;
  });
  if (found != groups.end()) return *found;
  return groups.emplace_back(
      CallGroup{.function = call.function, .origin = call.origin, .sequence = call.sequence});
}

std::vector<CallGroup> call_groups(const Suite& suite, int32_t kernel) {
  std::vector<CallGroup> groups;
  for (const SuiteCall& call : suite.calls) {
    if (call.kernel == kernel) ++group_of(groups, call).calls;
  }
  return groups;
}

}  // namespace tapml::topdown
