// The cost of quantized weights for a model's quality.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "topdown/evaluate/evaluate.h"

namespace tapml::topdown {

struct QuantizationCost {
  // Root mean square of the errors of quantized weights, divided by that of the weights.
  double weight_error = 0;
  int64_t positions = 0;  // scored tokens
  // Divergence of the next token's distribution from that of the unquantized model, in nats.
  double kl_mean = 0, kl_max = 0;
  double nll = 0;  // of the unquantized model, nats per token
};

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

Json quantization_cost_json(const QuantizationCost& cost);

}  // namespace tapml::topdown
