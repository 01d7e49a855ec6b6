#include "topdown/results/replayed.h"

#include <algorithm>

namespace tapml::topdown {

Verdict Replayed::verdict() const {
  if (!std::ranges::all_of(verdicts, &KernelVerdict::passed)) return Verdict::kFail;
  const bool proven = std::ranges::all_of(verdicts, &KernelVerdict::proven);
  return proven && untested.empty() && incomplete.empty() ? Verdict::kPass : Verdict::kNotProven;
}

std::vector<const KernelVerdict*> verdicts_of(const Replayed& replayed) {
  std::vector<const KernelVerdict*> verdicts;
  for (const KernelVerdict& verdict : replayed.verdicts) verdicts.push_back(&verdict);
  return verdicts;
}

}  // namespace tapml::topdown
