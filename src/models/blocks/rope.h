// Rotary positions.
#pragma once

#include <cstdint>
#include <vector>

namespace tapml::models {

// Rotary position embedding: j < head_dim / 2 turns by position * theta^(-2j / head_dim) radians,
// scaled.
struct RopeConfig {
  enum class Scaling : uint8_t {
    kNone,
    kLinear,  // frequencies divided by `factor`
    kLlama3,  // piecewise: long wavelengths divided by `factor`, short ones unchanged, interpolated
              // between
  };
  double theta = 10000;
  Scaling scaling = Scaling::kNone;
  double factor = 1;
  double low_freq_factor = 1;    // llama3
  double high_freq_factor = 4;   // llama3, above low_freq_factor
  int64_t original_context = 0;  // llama3: context length of the original training
};

// Radians per position, f32[head_dim / 2], bit-identical to transformers on a platform with a
// correctly rounded pow: every step is rounded to f32.
std::vector<float> rope_frequencies(const RopeConfig& rope, int64_t head_dim);

}  // namespace tapml::models
