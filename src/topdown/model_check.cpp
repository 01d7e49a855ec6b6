#include "topdown/model_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/interpreter.h"
#include "ir/exceptions.h"

namespace tapml::topdown {

namespace {

int64_t argmax(const double* values, int64_t count) {
  return std::max_element(values, values + count) - values;
}

}  // namespace

std::vector<HostTensor> forced_logits(llm::Engine& engine, const ForcedRun& run) {
  std::vector<HostTensor> logits;
  // A kernel that leaves the cache as it was must not profit from an earlier run.
  unwrap(engine.clear());
  logits.push_back(unwrap(runtime::download(unwrap(engine.prefill(run.prompt)))));
  for (int32_t token : run.forced) {
    if (run.cancelled && run.cancelled()) {
      throw_platform(PlatformFault::kCancelled, "interrupted");
    }
    logits.push_back(unwrap(runtime::download(unwrap(engine.decode(token)))));
  }
  return logits;
}

op::RefTensor judge_logits(const Module& module, const ModelInterface& model,
                           const std::map<std::string, HostTensor>& weights,
                           const std::vector<int32_t>& tokens) {
  auto count = static_cast<int64_t>(tokens.size());
  int64_t page = model.kv.page_size, pages = (count + page - 1) / page;
  auto argument = [](const HostTensor& tensor) {
    return interp::Value::tensor(op::RefTensor::from(tensor));
  };
  std::vector<int32_t> table;
  for (int64_t i = 0; i < pages; ++i) table.push_back(static_cast<int32_t>(i));
  std::vector<interp::Value> args;
  args.push_back(argument(HostTensor::from<int32_t>(DType::kI32, {1, count}, tokens)));
  args.push_back(argument(HostTensor::from<int32_t>(DType::kI32, {1, pages}, table)));
  args.push_back(argument(HostTensor::zeros(DType::kI32, {1})));
  for (int64_t i = 0; i < 2 * model.kv.layers; ++i) {
    args.push_back(argument(
        HostTensor::zeros(model.kv.dtype, {pages, page, model.kv.kv_heads, model.kv.head_dim})));
  }
  for (const std::string& name : model.weights) args.push_back(argument(weights.at(name)));
  return interp::call(module, "logits_all", args).as_tuple().at(0).as_tensor();
}

ModelJudge::ModelJudge(op::RefTensor logits, size_t prompt, const std::vector<HostTensor>& source)
    : logits_(std::move(logits)), first_(static_cast<int64_t>(prompt) - 1) {
  vocabulary_ = logits_.shape.back();
  double largest = 1;
  for (double value : logits_.values) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < source.size(); ++i) {
    source_error_ = std::max(source_error_, error(source[i], i));
  }
  // A source that computes no numbers excuses nothing.
  bound_ = (std::isfinite(source_error_) ? 4 * source_error_ : 0) + 1e-4 * largest;
}

ModelJudge ModelJudge::of(const Module& module, const std::map<std::string, HostTensor>& weights,
                          llm::Engine& source, const ForcedRun& run) {
  std::vector<int32_t> sequence = run.prompt;
  sequence.insert(sequence.end(), run.forced.begin(), run.forced.end());
  return {judge_logits(module, source.model(), weights, sequence), run.prompt.size(),
          forced_logits(source, run)};
}

ModelCheck ModelJudge::check(const std::vector<HostTensor>& logits) const {
  ModelCheck result;
  result.bound = bound_;
  result.source_error = source_error_;
  for (size_t i = 0; i < logits.size(); ++i) {
    double worst = error(logits[i], i);
    result.max_abs = std::max(result.max_abs, worst);
    std::vector<double> own;
    for (int64_t v = 0; v < vocabulary_; ++v) own.push_back(logits[i].at_f64(v));
    int64_t top = argmax(own.data(), vocabulary_), judged = argmax(row(i), vocabulary_);
    if (row(i)[judged] - row(i)[top] > 2 * bound_) ++result.top1_changes;
  }
  // Not "<=" alone: a NaN must fail.
  result.passed = result.max_abs <= bound_ && result.top1_changes == 0;
  return result;
}

double ModelJudge::margin(size_t i, int32_t token) const {
  const double* values = row(i);
  return values[argmax(values, vocabulary_)] - values[token];
}

double ModelJudge::error(const HostTensor& logits, size_t i) const {
  double worst = 0;
  for (int64_t v = 0; v < vocabulary_; ++v) {
    double difference = std::abs(logits.at_f64(v) - row(i)[v]);
    if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, difference);
  }
  return worst;
}

}  // namespace tapml::topdown
