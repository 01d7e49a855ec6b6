// The feed-forward part of a layer.
#pragma once

#include <string_view>

#include "models/blocks/linear.h"

namespace tapml::models {

enum class Activation : uint8_t {
  kSilu,
  kGelu,
  kGeluTanh,
  kRelu,
  kSquaredRelu,
  kQuickGelu,
  kXielu
};

// Of a name in configurations ("silu", "gelu_pytorch_tanh", ...); nullopt if unknown.
std::optional<Activation> find_activation(std::string_view name);
// The names of those without weights, in the order of a list for people.
std::span<const std::string_view> activation_names();

// One with weights (xIELU) needs the path of its module.
relax::Variable activate(Graph& g, const relax::Variable& x, Activation activation,
                         const std::string& path = {});

struct FeedForwardConfig {
  int64_t inner = 0;
  Activation activation = Activation::kSilu;
  bool bias = false;
  double gate_factor = 1;  // of the gate before its activation
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down = "down_proj";
  const char* gate_up = "gate_up_proj";  // of the fused form
  bool transposed = false;               // LinearConfig::transposed
  // Of the gated form: about this part of the gate, which is what a normal distribution of its mean
  // and deviation has below a threshold, becomes 0, and the rest is less the threshold (Gemma 3n).
  double sparsity = 0;
};

// down(activation(gate(x)) * up(x)) with the projections under `path` (Shazeer 2020): [b, n,
// hidden] to [b, n, hidden], without the residual.
relax::Variable gated_feed_forward(Graph& g, const std::string& path, const relax::Variable& x,
                                   const FeedForwardConfig& config);
// The same with one matrix, `config.gate_up`, that gives the gate and then up.
relax::Variable fused_gated_feed_forward(Graph& g, const std::string& path,
                                         const relax::Variable& x, const FeedForwardConfig& config);
// down(activation(up(x))) (Vaswani et al. 2017, section 3.3).
relax::Variable feed_forward(Graph& g, const std::string& path, const relax::Variable& x,
                             const FeedForwardConfig& config);

}  // namespace tapml::models
