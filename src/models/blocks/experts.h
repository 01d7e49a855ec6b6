// Mixture of experts: a router sends each token to a few feed-forward parts (Shazeer et al. 2017).
#pragma once

#include "models/blocks/feed_forward.h"

namespace tapml::models {

struct ExpertConfig {
  int64_t experts = 0;
  int64_t per_token = 0;  // at most `experts`
  int64_t inner = 0;      // of an expert
  Activation activation = Activation::kSilu;
  bool renormalize = false;  // the shares of the chosen experts sum to 1
  const char* router = "gate";
  // Names of the experts' projections in files.
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
};

// Gated experts with the router `path`.<router>: softmax of its scores over all experts, of which
// the largest are chosen. [b, n, hidden] to [b, n, hidden] in f32 or the dtype of activations,
// whichever the shares have. The matrices of a layer's experts are one weight each,
// [experts, outputs, inputs], whose parts are the tensors in the files. The origin is `path`
// afterwards.
relax::Variable experts(Graph& g, const std::string& path, const relax::Variable& x,
                        const ExpertConfig& config);

}  // namespace tapml::models
