// What quantized weights cost a model.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "topdown/evaluate/evaluate.h"

namespace tapml::topdown {

struct QuantizationCost {
  // Root mean square of the errors of quantized weights over that of these weights.
  double weight_error = 0;
  int64_t positions = 0;  // tokens that were scored
  // Divergence of the next token's distribution from that of the model as it is, in nats.
  double kl_mean = 0, kl_max = 0;
  double nll = 0;  // of the model as it is, nats a token
};

// Of weights by name: those of `quantized` that are packed (models/quantization.h) against `plain`,
// in f32, f16 or bf16.
double weight_error(const std::map<std::string, HostTensor>& plain,
                    const std::map<std::string, HostTensor>& quantized);

// Both models on the right continuation of each task, at every token that is scored; the weight
// error is not among it. `before` as for evaluate(). Throws, for logits that are not finite too.
QuantizationCost quantization_cost(llm::Engine& plain, llm::Engine& quantized,
                                   const std::vector<ScoredTask>& tasks,
                                   const std::function<void(size_t task)>& before = {});

Json quantization_cost_json(const QuantizationCost& cost);

}  // namespace tapml::topdown
