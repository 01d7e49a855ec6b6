// Gated delta nets (Yang et al. 2024, "Gated Delta Networks"): linear attention whose state, a
// matrix for each head, forgets by a factor of the token and corrects what it has for the token's
// key. The scan is a tensor program, which is its own specification.
#pragma once

#include "models/graph.h"

namespace tapml::models {

// Far above every existing model; a local buffer of the scan has a row of key_size.
inline constexpr int64_t kMaxDeltaHeads = int64_t{1} << 12;
inline constexpr int64_t kMaxDeltaKeySize = 1024;

struct DeltaNetConfig {
  int64_t key_heads = 0;
  int64_t value_heads = 0;     // a multiple of key_heads: value heads in groups that share q and k
  int64_t key_size = 0;        // of a head of queries or keys
  int64_t value_size = 0;      // of a head of values
  double largest_rate = 1;     // of what a token writes; 2: negative eigenvalues
  double norm_epsilon = 1e-6;  // of the norm of each head's result
  const char* norm = "norm";
  const char* output = "out_proj";

  int64_t key_width() const { return key_heads * key_size; }
  int64_t value_width() const { return value_heads * value_size; }
};

// The module with the scan, for DecoderModel::programs.
std::string delta_net_program(const DeltaNetConfig& config);

// Of each token, [b, n, width], in the dtype of activations.
struct DeltaNetInputs {
  relax::Variable q, k;   // key_width, after the short convolution
  relax::Variable v;      // value_width, after the short convolution
  relax::Variable gate;   // value_width
  relax::Variable rate;   // value_heads, before the sigmoid
  relax::Variable decay;  // value_heads, before "<path>.dt_bias"
};

// [b, n, hidden] with the weights "A_log", "dt_bias", `config.norm` and `config.output` under
// `path`. The state is "delta.<layer>" f32[value_heads, value_size, key_size].
relax::Variable delta_net(Graph& g, int64_t layer, const std::string& path,
                          const DeltaNetInputs& inputs, int64_t hidden,
                          const DeltaNetConfig& config);

}  // namespace tapml::models
