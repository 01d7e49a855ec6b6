// Whether a model's head is its embedding.
#pragma once

#include "frontend/huggingface/config.h"
#include "frontend/huggingface/weights.h"

namespace tapml::frontend {

// Whether the files of a model whose configuration ties the two have both, with other values: they
// are not tied then, as in transformers.
bool has_other_head(const HuggingFaceConfig& config, const WeightFiles& files);

}  // namespace tapml::frontend
