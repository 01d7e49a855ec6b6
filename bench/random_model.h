// Language models with random weights.
#pragma once

#include <string>

#include "frontend/huggingface/model.h"

namespace tapml::bench {

inline constexpr const char* kDemo = "models/demo";
inline constexpr const char* kLlama171m = "bench/models/llama_171m.json";
inline constexpr const char* kSmolLm2 = "bench/models/smollm2_135m.json";

struct RandomWeights {
  DType dtype = DType::kF32;
  models::QuantizationRef quantization = nullptr;  // null: none
  bool quantized_inputs = false;                   // models::Precision's
};

// The model of configuration `file` with generated weights around 0, whose values do not affect
// speed.
frontend::HuggingFaceModel random_model(const std::string& file, const RandomWeights& weights = {});

}  // namespace tapml::bench
