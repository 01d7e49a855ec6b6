// Alternating updates: several streams of hidden states, of which a layer computes one and predicts
// the others (Baykal et al. 2023; Gemma 3n).
#pragma once

#include "models/blocks/norm.h"

namespace tapml::models {

struct AltUpConfig {
  int64_t streams = 4;
  int64_t active = 0;  // the one that layers compute
  NormConfig norm;
};

// Streams [b, n, streams, hidden] of embedded tokens x [b, n, hidden]: x itself, and its products
// with "model.altup_projections.<i>" at the length of x.
relax::Variable altup_streams(Graph& g, const relax::Variable& x, const AltUpConfig& config);
// The mean of the first stream and the products of the others with
// "model.altup_unembed_projections.<i>", at the length of the first.
relax::Variable altup_mean(Graph& g, const relax::Variable& streams, const AltUpConfig& config);

// What the streams will be, as a mix of all that the active one decides; the weights are under
// `path`.
relax::Variable altup_predict(Graph& g, const std::string& path, const relax::Variable& streams,
                              const AltUpConfig& config);
// The predictions, each corrected by a share of what the layer's result [b, n, hidden] differs from
// the active one.
relax::Variable altup_correct(Graph& g, const std::string& path, const relax::Variable& predictions,
                              const relax::Variable& result, const AltUpConfig& config);

// All streams but the first plus x [b, n, hidden].
relax::Variable altup_add_to_others(Graph& g, const relax::Variable& streams,
                                    const relax::Variable& x, const AltUpConfig& config);

// Stream `index` alone, [b, n, hidden].
relax::Variable altup_stream(Graph& g, const relax::Variable& streams, int64_t index);

}  // namespace tapml::models
