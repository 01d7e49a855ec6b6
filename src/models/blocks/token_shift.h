// Token shift: each token is mixed with the one before it (Peng et al. 2023). The newest token is
// recurrent state.
#pragma once

#include "models/graph.h"

namespace tapml::models {

// The token before each token of x [b, n, d], in the dtype of activations: first the one in the
// state `state` (f32[d], zeros before the first token), then all of x but the last, which becomes
// the state.
relax::Variable previous_tokens(Graph& g, const std::string& state, const relax::Variable& x);

// from + (to - from) * share, in the dtype of activations; `share` broadcasts.
relax::Variable interpolated(Graph& g, const relax::Variable& from, const relax::Variable& to,
                             const relax::Variable& share);

}  // namespace tapml::models
