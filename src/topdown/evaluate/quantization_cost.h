// The cost of quantized weights for a model's quality.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "topdown/evaluate/evaluate.h"

namespace tapml::topdown {

// For weights by name: the packed weights of `quantized` (models/quantization.h) against `plain`,
// in f32, f16 or bf16.
double weight_error(const std::map<std::string, HostTensor>& plain,
                    const std::map<std::string, HostTensor>& quantized);

// Runs both models on the right continuation of each task, and compares every scored token; does
// not set the weight error. `before` as for evaluate(). Throws, also for logits that are not
// finite.
QuantizationCost quantization_cost(llm::Engine& plain, llm::Engine& quantized,
                                   const std::vector<ScoredTask>& tasks,
                                   const std::function<void(size_t task)>& before = {});

}  // namespace tapml::topdown
