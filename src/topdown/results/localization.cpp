#include "topdown/results/localization.h"

namespace tapml::topdown {

const char* evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kReplay:
      return "replay";
    case Evidence::kHybrid:
      return "hybrid";
    case Evidence::kTarget:
      return "target";
  }
  return "";
}

std::string found_text(const Culprit& culprit) {
  if (culprit.evidence == Evidence::kReplay) return verdict_outcome(culprit.verdict);
  return culprit.hybrid.failure.empty() ? "wrong in the model" : "fails in the model";
}

std::vector<const KernelVerdict*> verdicts_of(const Localization& localization) {
  std::vector<const KernelVerdict*> verdicts;
  for (const KernelVerdict& verdict : localization.verdicts) verdicts.push_back(&verdict);
  return verdicts;
}

}  // namespace tapml::topdown
