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

}  // namespace tapml::topdown
