#include "topdown/evaluate/quantization_cost.h"

#include <cmath>

#include "ir/exceptions.h"
#include "models/quantization.h"
#include "op/reference/quantization.h"
#include "tensor/packed_levels.h"
#include "topdown/reference_run/divergence.h"

namespace tapml::topdown {

double weight_error(const std::map<std::string, HostTensor>& plain,
                    const std::map<std::string, HostTensor>& quantized) {
  double error = 0, all = 0;
  for (const auto& [name, weight] : plain) {
    const auto packed = quantized.find(models::packed_name(name));
    if (packed == quantized.end()) continue;
    const HostTensor& scales = quantized.at(models::scales_name(name));
    const auto minimums = quantized.find(models::minimums_name(name));
    const bool has_minimums = minimums != quantized.end();
    const int64_t columns = weight.shape().back(), group = columns / scales.shape().back();
    const int bits = static_cast<int>(packed->second.size() * 8 / weight.size());
    const bool is_whole = packed->second.dtype() == DType::kI8;
    const int64_t zero = has_minimums ? 0 : op::zero_level(bits);
    const std::byte* bytes = packed->second.bytes().data();
    for (int64_t i = 0; i < weight.size(); ++i) {
      const std::byte* row = bytes + i / columns * packed_row_bytes(columns, bits);
      const int64_t column = i % columns;
      const int64_t level =
          is_whole ? static_cast<int8_t>(row[column]) : level_at(row, columns, bits, column) - zero;
      double off = static_cast<double>(level) * scales.at_f64(i / group) - weight.at_f64(i);
      if (has_minimums) off += minimums->second.at_f64(i / group);
      error += off * off;
      all += weight.at_f64(i) * weight.at_f64(i);
    }
  }
  return all > 0 ? std::sqrt(error / all) : 0;
}

QuantizationCost quantization_cost(llm::Engine& plain, llm::Engine& quantized,
                                   const std::vector<ScoredTask>& tasks,
                                   const std::function<void(size_t task)>& before) {
  QuantizationCost cost;
  auto logits_of = [](llm::Engine& engine, const ScoredText& text) {
    engine.reset();
    HostTensor logits = unwrap(engine.logits_all(text.tokens));
    unwrap(engine.check_logits(logits));
    return logits;
  };
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (before) before(t);
    if (tasks[t].task.kind == TaskKind::kProgram) continue;  // has no scored tokens
    const ScoredText& text = tasks[t].texts.at(tasks[t].task.answer);
    const HostTensor own = logits_of(plain, text), other = logits_of(quantized, text);
    cost.nll += score_text(own, text).nll;
    const auto width = static_cast<size_t>(own.shape().back());
    for (size_t i = text.first; i < text.tokens.size(); ++i) {
      auto row = [&](const HostTensor& logits) {
        const auto values = logits.values<float>().subspan((i - 1) * width, width);
        return std::vector<double>(values.begin(), values.end());
      };
      const double kl = divergence(row(own), row(other));
      cost.kl_mean += kl;
      cost.kl_max = std::max(cost.kl_max, kl);
      ++cost.positions;
    }
  }
  if (cost.positions > 0) {
    cost.kl_mean /= static_cast<double>(cost.positions);
    cost.nll /= static_cast<double>(cost.positions);
  }
  return cost;
}

}  // namespace tapml::topdown
