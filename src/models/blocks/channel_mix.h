// The feed-forward part of RWKV: squared ReLU, and a gate that reads a mix of its own.
#pragma once

#include "models/graph.h"

namespace tapml::models {

// sigmoid(receptance(r)) * value(relu(key(k))²) with the projections under `path`: k and r [b, n,
// d] to [b, n, d].
relax::Variable channel_mix(Graph& g, const std::string& path, const relax::Variable& k,
                            const relax::Variable& r, int64_t inner);

}  // namespace tapml::models
