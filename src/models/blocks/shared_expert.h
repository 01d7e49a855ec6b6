// Routed experts beside one that all tokens go through (Dai et al. 2024), whose share is a sigmoid
// of the token.
#pragma once

#include "models/blocks/experts.h"

namespace tapml::models {

// experts() under `path` plus sigmoid(shared_expert_gate(x)) * shared_expert(x), the latter a gated
// feed-forward part of the width `shared_inner`; 0: there is none. [b, n, hidden] to [b, n, hidden]
// in the dtype of activations.
relax::Variable experts_with_shared(Graph& g, const std::string& path, const relax::Variable& x,
                                    const ExpertConfig& config, int64_t shared_inner);

}  // namespace tapml::models
