// Routed experts beside one that all tokens go through (Dai et al. 2024).
#pragma once

#include "models/blocks/experts.h"

namespace tapml::models {

struct SharedExpertConfig {
  int64_t inner = 0;  // width of the shared expert, or of several together; 0: there is none
  const char* name = "shared_expert";
  bool gated = false;  // its share is sigmoid(shared_expert_gate(x)), not 1
  bool bias = false;   // of its projections
};

// experts() under `path` plus a gated feed-forward part with the experts' activation under
// "<path>.<name>": [b, n, hidden] to [b, n, hidden] in the dtype of activations.
relax::Variable experts_with_shared(Graph& g, const std::string& path, const relax::Variable& x,
                                    const ExpertConfig& config, const SharedExpertConfig& shared);

}  // namespace tapml::models
