// Token shift: each token is mixed with the one before it (Peng et al. 2023). The newest token is
// recurrent state.
#pragma once

#include "models/graph.h"

namespace tapml::models {

// Of x [b, n, d] the tokens before, in the dtype of activations: the one in the state `state`
// (f32[d], zeros before the first token), then all but the last. The last one becomes the state.
relax::Variable previous_tokens(Graph& g, const std::string& state, const relax::Variable& x);

// from + (to - from) * share, in the dtype of activations; `share` broadcasts.
relax::Variable interpolated(Graph& g, const relax::Variable& from, const relax::Variable& to,
                             const relax::Variable& share);

}  // namespace tapml::models
