// What the Granite models share: four factors (IBM 2024).
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

struct GraniteFactors {
  double embedding = 1;      // of the embeddings
  double residual = 1;       // of what each part of a layer adds
  double score = 1;          // of attention's scores, in the place of 1 / sqrt(head_dim)
  double logit_divisor = 1;  // of the logits
};

GraniteFactors read_granite_factors(const JsonObjectReader& json);

// One part of a layer at `path`, "model.layers.<layer>".
using GranitePart = std::function<relax::Variable(int64_t layer, const std::string& path,
                                                  const relax::Variable& x)>;

// Hidden states after the last layer: scaled embeddings, then layers of a norm and a part, twice,
// whose results are scaled before they are added.
relax::Variable granite_hidden_states(Graph& g, const DecoderConfig& config,
                                      const GraniteFactors& factors, const GranitePart& mix,
                                      const GranitePart& feed);

}  // namespace tapml::models
