// Mixture of experts: a router sends each token to a few feed-forward parts (Shazeer et al. 2017).
#pragma once

#include "models/blocks/feed_forward.h"

namespace tapml::models {

// How a token's experts are chosen, and which shares they have.
struct RouterConfig {
  enum class Scores : uint8_t {
    kSoftmax,          // over all experts
    kSigmoid,          // of each expert
    kSoftmaxOfChosen,  // over the chosen experts, which are those of the largest products
  };
  Scores scores = Scores::kSoftmax;
  const char* path = "gate";  // of the projection to scores, under the experts' path
  bool bias = false;          // of the projection
  // Weight [experts] under the experts' path that is added to the scores for the choice, but not to
  // the shares (Wang et al. 2024, DeepSeek V3). Null: none.
  const char* correction = nullptr;
  bool correction_is_row = false;  // files have it as [1, experts]
  // The experts are in `groups` groups of equal size, and only those of the best `chosen_groups`
  // groups can be chosen (DeepSeek V2). 1 group: all can.
  int64_t groups = 1, chosen_groups = 1;
  // The best groups are those with the largest sum of two scores; else with the largest score.
  bool groups_by_pairs = true;
  bool renormalize = false;  // the shares of the chosen experts sum to 1
  double total_epsilon = 0;  // what is added to their sum before they are divided by it
  double scale = 1;          // of the shares
  // Weight [experts] under the experts' path that shares are multiplied by (Gemma 4). Null: none.
  const char* expert_scale = nullptr;
};

// Names under the experts' path in files with one tensor for all experts, in which gate and up are
// one matrix.
struct StackedExperts {
  const char* gate_up = "experts.gate_up_proj";
  const char* down = "experts.down_proj";
  bool transposed = false;   // [experts, inputs, outputs]; not by --quantize
  bool interleaved = false;  // rows of gate and up alternate; else gate comes first
  bool bias = false;         // "<name>_bias"
};

// gate * sigmoid(alpha * gate) * (up + 1) of clamped parts (gpt-oss).
struct ClampedSwiglu {
  double alpha = 1.702;
  double limit = 7;  // gate is at most this, up between it and its negative
};

struct ExpertConfig {
  int64_t experts = 0;
  int64_t per_token = 0;  // at most `experts`
  int64_t inner = 0;      // of an expert
  Activation activation = Activation::kSilu;
  RouterConfig router;
  // Names of the experts' projections in files with a tensor for each expert:
  // "<path>.<list>.<expert>.<gate>.weight".
  const char* list = "experts";
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
  std::optional<StackedExperts> stacked;
  std::optional<ClampedSwiglu> clamped;  // in the place of the activation
  // down(activation(up(x))) instead, with a tensor for each expert (Nemotron-H).
  bool plain = false;
  bool scales_input = false;  // an expert gets share * x, and its result has no factor (Llama 4)
};

// Experts: [b, n, hidden] to [b, n, hidden] in f32 or the dtype of activations, whichever the
// shares have. Without `stacked`, the matrices of a layer's experts are one weight each, [experts,
// outputs, inputs], whose parts are the tensors in the files. The router reads `routed`, if it is
// given, in the place of x. The origin is `path` afterwards.
relax::Variable experts(Graph& g, const std::string& path, const relax::Variable& x,
                        const ExpertConfig& config, const relax::Variable& routed = {});

}  // namespace tapml::models
