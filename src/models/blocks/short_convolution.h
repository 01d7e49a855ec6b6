// Short convolutions over tokens: each channel mixes a few tokens, the newest last (Poli et al.
// 2023; the "conv1d" of Mamba and of gated delta nets). The newest inputs are recurrent state.
#pragma once

#include "models/graph.h"

namespace tapml::models {

// Far above every existing model: a tap is an operator of its own.
inline constexpr int64_t kMaxShortKernel = 64;

struct ShortConvolutionConfig {
  int64_t kernel = 0;  // tokens that a channel sees, its own included; at least 1
  bool bias = false;
};

// Depthwise causal convolution of x [b, n, d]: y[t, c] = sum over j of weight[c, 0, j] *
// x[t - (kernel - 1) + j, c], plus the bias, where tokens before the first one are zeros. Computed
// in f32, in the dtype of activations. The weight is "<path>.weight" [d, 1, kernel], the bias
// "<path>.bias" [d]; the state `state` is f32[kernel - 1, d], the inputs before x, the newest last;
// a kernel of 1 has none. Sets the origin to `path`.
relax::Variable short_convolution(Graph& g, const std::string& state, const std::string& path,
                                  const relax::Variable& x, const ShortConvolutionConfig& config);

}  // namespace tapml::models
