#include "fuzz/generate/policy.h"

namespace tapml::fuzz {

const char* policy_name(Policy policy) {
  constexpr const char* kNames[] = {"paper", "published", "none"};
  return kNames[static_cast<int>(policy)];
}

std::optional<Policy> policy_of(std::string_view name) {
  for (const Policy policy : {Policy::kPaper, Policy::kPublished, Policy::kNone}) {
    if (name == policy_name(policy)) return policy;
  }
  return std::nullopt;
}

bool accepts(Policy policy, int added, RandomStream& rng) {
  constexpr double kOdds[] = {0, 0.11, 0.51, 1};
  switch (policy) {
    case Policy::kPaper:
      return added > 0;
    case Policy::kPublished:
      return added > 0 && rng.chance(kOdds[added]);
    case Policy::kNone:
      break;
  }
  return true;
}

}  // namespace tapml::fuzz
