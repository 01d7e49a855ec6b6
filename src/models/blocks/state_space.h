// Selective state spaces with a scalar decay for each head (Dao and Gu 2024, Mamba 2): a scan over
// tokens, with a convolution before it and a gated norm after it.
#pragma once

#include <array>
#include <limits>

#include "models/blocks/feed_forward.h"
#include "models/blocks/short_convolution.h"

namespace tapml::models {

// The gate multiplies what the scan gives by silu(gate), before or after an RMS norm of each group.
enum class GatedNorm : uint8_t { kGateFirst, kNormFirst, kGateAlone };

struct StateSpaceConfig {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t state_size = 0;  // of each element of a head
  int64_t groups = 1;      // divides heads: heads of a group share B and C
  ShortConvolutionConfig convolution;
  Activation activation = Activation::kSilu;  // after the convolution
  // Time steps, after softplus, are clamped to these.
  double least_step = 0, largest_step = std::numeric_limits<double>::infinity();
  bool in_bias = false, out_bias = false;  // of the projections
  // Of what the input projection gives: gate, x, B, C, dt.
  std::array<double, 5> factors = {1, 1, 1, 1, 1};
  GatedNorm norm = GatedNorm::kGateFirst;
  double norm_epsilon = 1e-5;

  int64_t inner() const { return heads * head_dim; }
};

// The module with the scan, "state_space", for DecoderModel::programs.
std::string state_space_program(const StateSpaceConfig& config);

// With the projection "<path>.in_proj" of x [b, n, hidden] to gate, x, B, C and dt; the convolution
// "<path>.conv1d" over x, B and C; dt = softplus(dt + "<path>.dt_bias") and A =
// -exp("<path>.A_log"), a number for each head; the scan over tokens
//   h = exp(dt A) h + dt x Bᵀ, y = h C + "<path>.D" x
// whose state h, "state_space.<layer>", is f32[heads, head_dim, state_size]; the norm "<path>.norm"
// and the gate; and the projection "<path>.out_proj" to [b, n, hidden]. Computed in f32 from dt to
// the gate.
relax::Variable state_space(Graph& g, int64_t layer, const std::string& path,
                            const relax::Variable& x, const StateSpaceConfig& config);

}  // namespace tapml::models
