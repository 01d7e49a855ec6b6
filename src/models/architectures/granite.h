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

}  // namespace tapml::models
