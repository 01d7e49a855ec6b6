#include "topdown/reference_run/kernel_reference.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/cost.h"
#include "arith/analyzer.h"
#include "base/rng.h"
#include "interp/interpreter.h"
#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "text/parser.h"
#include "topdown/reference_run/allowed.h"
#include "topdown/reference_run/sampled_elements.h"

namespace tapml::topdown {

KernelReference::KernelReference(const Suite& suite, int64_t sample_above)
    : suite_(suite), sample_above_(sample_above), source_allowances_(allowances_of(suite.source)) {
  for (const SuiteKernel& kernel : suite.kernels) {
    Module alone = text::parse(kernel.spec, "spec of " + kernel.name);
    for (auto& [name, function] : alone.functions) module_.functions[name] = function;
    passes::kernel_implementation(module_, kernel.name);  // it is one, or this throws
  }
  module_.facts.phase = "fuse";
  module_.facts.fusion_policy = suite.fusion_policy;
}

// 0 if it depends on the data.
double KernelReference::flops_of(const SuiteCall& call) const {
  const SuiteKernel& kernel = suite_.kernels[static_cast<size_t>(call.kernel)];
  const tir::PrimFunc& program = passes::kernel_implementation(module_, kernel.name);
  VarMap scalars;
  for (size_t i = 0; i < program.scalars.size() && i < call.scalars.size(); ++i) {
    scalars[program.scalars[i].get()] = call.scalars[i];
  }
  PrimExpr flops =
      arith::Analyzer().simplify(substitute(analysis::cost_of(program).flops, scalars));
  return flops.is_int() ? static_cast<double>(flops->int_value) : 0;
}

// Flags of the elements to compare; empty for all of them.
std::vector<uint8_t> KernelReference::sample(size_t index,
                                             const std::vector<HostTensor>& target) const {
  const SuiteCall& call = suite_.calls[index];
  const bool large = flops_of(call) / 2 > static_cast<double>(sample_above_);
  if (!large || target.size() != 1) return {};
  std::string hash;
  for (const std::string& one : call.after) hash = one.empty() ? hash : one;
  const HostTensor& source = suite_.tensors.at(hash);
  if (source.size() <= kSampleSize || target[0].size() != source.size()) return {};
  std::vector<HostTensor> choices;
  for (const std::string& one : call.before) {
    if (one.empty()) continue;
    const HostTensor& input = suite_.tensors.at(one);
    if (!is_float(input.dtype()) && input.dtype() != DType::kBool) choices.push_back(input);
  }
  return sampled_elements(source, target[0], choices, hash);
}

namespace {

// Flags of `count` elements in runs of 16, which share what costs most to read.
std::vector<uint8_t> runs_of(int64_t size, int64_t count, RandomStream& random) {
  constexpr int64_t kRun = 16;
  std::vector<uint8_t> flags(static_cast<size_t>(size), count >= size ? op::kRandomlyWanted : 0);
  for (int64_t drawn = 0; drawn < count && count < size; drawn += kRun) {
    const int64_t first = random.between(0, (size - 1) / kRun) * kRun;
    for (int64_t i = first; i < std::min(size, first + kRun); ++i) {
      flags[static_cast<size_t>(i)] = op::kRandomlyWanted;
    }
  }
  return flags;
}

// Root mean square of the effect of a cause, in deviations of honest rounding.
double effect_of(const op::RefTensor& reference, const op::RefTensor& under_cause) {
  double squares = 0, count = 0;
  for (size_t i = 0; i < reference.values.size(); ++i) {
    const double deviation = reference.deviation.empty() ? 0 : reference.deviation[i];
    if (!reference.wants(i) || deviation == 0) continue;
    const double effect = (under_cause.values[i] - reference.values[i]) / deviation;
    if (!std::isfinite(effect)) continue;
    squares += effect * effect;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(squares / count);
}

// A cause with this effect would have been seen by the size of the errors.
constexpr double kSeenBySize = 3;
// Elements to estimate a cause's effect, and to fit it.
constexpr int64_t kFewElements = 32, kFittedElements = 1024;
// Multiply-adds of a call with one output element, below which there is nothing to find.
constexpr double kShortestSum = 16;
// Elements of a call's inputs above which a passing kernel is not searched.
constexpr int64_t kMostInputs = int64_t{1} << 26;

}  // namespace

const SuspectedCause* KernelReference::likely_cause(size_t index,
                                                    const std::vector<HostTensor>& target,
                                                    bool imprecise,
                                                    const Allowances& allowed) const {
  const SuiteCall& call = suite_.calls[index];
  if (!has_specification(call.kernel) || target.size() != 1) return nullptr;
  const int64_t size = target[0].size();
  if (size == 0 || !is_float(target[0].dtype())) return nullptr;
  if (flops_of(call) / 2 < kShortestSum * static_cast<double>(size)) return nullptr;
  int64_t inputs = 0;
  for (const std::string& hash : call.before) {
    if (!hash.empty()) inputs += suite_.tensors.at(hash).size();
  }
  if (!imprecise && inputs > kMostInputs) return nullptr;
  RandomStream random(0, "causes " + call.after.back());
  const auto few = runs_of(size, kFewElements, random);
  const auto fitted = runs_of(size, kFittedElements, random);
  const auto outputs_at = [&](const std::vector<uint8_t>& wanted,
                              const op::ProductRounding& products) {
    return evaluate(call, inputs_of(call), wanted, products, allowed).at(0);
  };
  const op::RefTensor few_exact = outputs_at(few, {});
  std::optional<op::RefTensor> exact;
  const SuspectedCause* best = nullptr;
  double explained = 0;
  for (const SuspectedCause& cause : suspected_causes()) {
    const double effect = effect_of(few_exact, outputs_at(few, cause.products));
    if (effect == 0 || (!imprecise && effect > kSeenBySize)) continue;
    if (!exact) exact = outputs_at(fitted, {});
    const CauseFit fit = fit_cause(target[0], *exact, outputs_at(fitted, cause.products));
    if (!fit.found() || fit.explained <= explained) continue;
    explained = fit.explained;
    best = &cause;
  }
  return best;
}

bool KernelReference::has_specification(int32_t kernel) const {
  const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
  return passes::kernel_implementation(module_, name).facts.library.empty();
}

Allowances KernelReference::specified_allowances(int32_t kernel) const {
  if (!has_specification(kernel)) return {};
  const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
  return {.half_sums = specifies_half_sums(passes::kernel_spec(module_, name))};
}

std::vector<op::RefTensor> KernelReference::source_outputs(const SuiteCall& call) const {
  std::vector<op::RefTensor> outputs;
  for (const std::string& hash : call.after) {
    if (hash.empty()) continue;
    op::RefTensor tensor = op::RefTensor::from(suite_.tensors.at(hash));
    double largest = 0;
    for (double value : tensor.values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
    // The computation is unknown, so allow a few hundred roundings.
    tensor.bound.assign(tensor.values.size(), 256 * unit_roundoff(tensor.dtype) * largest);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

std::vector<op::RefTensor> KernelReference::outputs(size_t index,
                                                    const std::vector<HostTensor>& target,
                                                    const Allowances& allowed) {
  std::vector<uint8_t> wanted = sample(index, target);
  const bool all = wanted.empty();
  const std::pair key(index, allowances_text(allowed));
  if (auto it = answers_.find(key); it != answers_.end() && all) return it->second;
  const SuiteCall& call = suite_.calls[index];
  if (!has_specification(call.kernel)) return source_outputs(call);
  std::vector<op::RefTensor> outputs =
      evaluate(call, inputs_of(call), std::move(wanted), {}, allowed);
  if (!all) return outputs;
  return answers_[key] = std::move(outputs);
}

std::vector<op::RefTensor> KernelReference::inputs_of(const SuiteCall& call) const {
  const SuiteKernel& kernel = suite_.kernels[static_cast<size_t>(call.kernel)];
  std::vector<op::RefTensor> inputs;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] == AccessMode::kOut) continue;
    inputs.push_back(op::RefTensor::from(suite_.tensors.at(call.before[i])));
  }
  return inputs;
}

std::vector<op::RefTensor> KernelReference::evaluate(const SuiteCall& call,
                                                     std::vector<op::RefTensor> inputs,
                                                     std::vector<uint8_t> wanted,
                                                     const op::ProductRounding& products,
                                                     const Allowances& allowed) const {
  const SuiteKernel& kernel = suite_.kernels[static_cast<size_t>(call.kernel)];
  const relax::Function& spec = passes::kernel_spec(module_, kernel.name);
  const tir::PrimFunc& program = passes::kernel_implementation(module_, kernel.name);
  std::vector<interp::Value> args;
  args.reserve(inputs.size() + 1);
  for (op::RefTensor& input : inputs) args.push_back(interp::Value::tensor(std::move(input)));
  if (spec.params.size() > args.size()) {
    std::vector<int64_t> symbols;
    for (const Var& var : relax::underived_scalars(program)) {
      for (size_t i = 0; i < program.scalars.size() && i < call.scalars.size(); ++i) {
        if (program.scalars[i].same_as(var)) symbols.push_back(call.scalars[i]);
      }
    }
    args.push_back(interp::Value::shape(std::move(symbols)));
  }
  interp::CallOptions options;
  options.wanted = wanted;
  options.poll = poll_;
  options.products = products;
  options.allowed = allowed;
  interp::Value result = interp::call(module_, kernel.name, args, options);
  std::vector<op::RefTensor> fields;
  if (std::holds_alternative<op::RefTensor>(result.data)) {
    fields.push_back(result.as_tensor());
  } else {
    for (const interp::Value& field : result.as_tuple()) fields.push_back(field.as_tensor());
  }
  // Results are in the order of the spec, parameters in that of the signature.
  const std::vector<int64_t>& inout = spec.facts.inout_indices;
  std::map<size_t, size_t> result_of;  // by parameter
  std::vector<size_t> out_params, in_params;
  for (size_t i = 0; i < kernel.modes.size(); ++i) {
    (kernel.modes[i] == AccessMode::kOut ? out_params : in_params).push_back(i);
  }
  size_t next = 0;
  for (size_t j = 0; j < fields.size(); ++j) {
    int64_t source = j < inout.size() ? inout[j] : -1;
    result_of[source >= 0 ? in_params.at(static_cast<size_t>(source)) : out_params.at(next++)] = j;
  }
  std::vector<op::RefTensor> ordered;
  for (size_t i = 0; i < kernel.modes.size(); ++i) {
    if (auto it = result_of.find(i); it != result_of.end()) {
      ordered.push_back(std::move(fields[it->second]));
    }
  }
  if (!wanted.empty()) ordered.at(0).wanted = std::move(wanted);
  return ordered;
}

}  // namespace tapml::topdown
