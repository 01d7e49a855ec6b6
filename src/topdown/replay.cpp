#include "topdown/replay.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include "analysis/cost.h"
#include "arith/analyzer.h"
#include "base/rng.h"
#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "passes/kernel.h"
#include "relax/kernel_call.h"
#include "text/parser.h"

namespace tapml::topdown {

Judge::Judge(const Suite& suite, int64_t sample_above)
    : suite_(suite), sample_above_(sample_above) {
  for (const SuiteKernel& kernel : suite.kernels) {
    Module alone = text::parse(kernel.spec, "spec of " + kernel.name);
    for (auto& [name, function] : alone.functions) module_.functions[name] = function;
    passes::kernel_implementation(module_, kernel.name);  // it is one, or this throws
  }
  module_.attrs["phase"] = std::string("fuse");
  module_.attrs["boundary_policy"] = suite.boundary_policy;
}

// Flags of the elements to judge; empty for all of them.
std::vector<uint8_t> Judge::sample(size_t index, const std::vector<HostTensor>& target) const {
  const SuiteCall& call = suite_.calls[index];
  const SuiteKernel& kernel = suite_.kernels[static_cast<size_t>(call.kernel)];
  const tir::PrimFunc& program = passes::kernel_implementation(module_, kernel.name);
  VarMap scalars;
  for (size_t i = 0; i < program.scalars.size() && i < call.scalars.size(); ++i) {
    scalars[program.scalars[i].get()] = call.scalars[i];
  }
  PrimExpr flops =
      arith::Analyzer().simplify(substitute(analysis::cost_of(program).flops, scalars));
  bool large = flops.is_int() && flops->int_value / 2 > sample_above_;
  if (!large || target.size() != 1) return {};
  std::string hash;
  for (const std::string& one : call.after) hash = one.empty() ? hash : one;
  const HostTensor& source = suite_.tensors.at(hash);
  if (source.size() <= kSampleSize || target[0].size() != source.size()) return {};
  std::vector<int64_t> order(static_cast<size_t>(source.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  auto difference = [&](int64_t i) {
    double d = std::abs(source.at_f64(i) - target[0].at_f64(i));
    return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  };
  std::nth_element(order.begin(), order.begin() + kSampleSize / 2, order.end(),
                   [&](int64_t a, int64_t b) {
                     double x = difference(a), y = difference(b);
                     return x != y ? x > y : a < b;
                   });
  std::vector<uint8_t> flags(order.size(), 0);
  for (int64_t i = 0; i < kSampleSize / 2; ++i) flags[static_cast<size_t>(order[i])] = 1;
  RandomStream random(0, "judge " + hash);
  for (int64_t chosen = kSampleSize / 2; chosen < kSampleSize;) {
    auto element = static_cast<size_t>(random.between(0, source.size() - 1));
    if (flags[element]) continue;
    flags[element] = 1;
    ++chosen;
  }
  return flags;
}

bool Judge::has_specification(int32_t kernel) const {
  const std::string& name = suite_.kernels[static_cast<size_t>(kernel)].name;
  return !passes::kernel_implementation(module_, name).attrs.contains(passes::kLibraryAttr);
}

std::vector<op::RefTensor> Judge::source_outputs(const SuiteCall& call) const {
  std::vector<op::RefTensor> outputs;
  for (const std::string& hash : call.after) {
    if (hash.empty()) continue;
    op::RefTensor tensor = op::RefTensor::from(suite_.tensors.at(hash));
    double largest = 0;
    for (double value : tensor.values) {
      if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    }
    // Nothing is known of what is computed, so a few hundred roundings are granted.
    tensor.bound.assign(tensor.values.size(), 256 * unit_roundoff(tensor.dtype) * largest);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

std::vector<op::RefTensor> Judge::outputs(size_t index, const std::vector<HostTensor>& target) {
  std::vector<uint8_t> wanted = sample(index, target);
  if (auto it = answers_.find(index); it != answers_.end() && wanted.empty()) {
    return it->second;
  }
  const SuiteCall& call = suite_.calls[index];
  const SuiteKernel& kernel = suite_.kernels[static_cast<size_t>(call.kernel)];
  const relax::Function& spec = passes::kernel_spec(module_, kernel.name);
  const tir::PrimFunc& program = passes::kernel_implementation(module_, kernel.name);
  if (!has_specification(call.kernel)) return source_outputs(call);
  std::vector<interp::Value> args;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] == AccessMode::kOut) continue;
    args.push_back(interp::Value::tensor(op::RefTensor::from(suite_.tensors.at(call.before[i]))));
  }
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
  interp::Value result = interp::call(module_, kernel.name, args, options);
  std::vector<op::RefTensor> fields;
  if (std::holds_alternative<op::RefTensor>(result.data)) {
    fields.push_back(result.as_tensor());
  } else {
    for (const interp::Value& field : result.as_tuple()) fields.push_back(field.as_tensor());
  }
  // Results in the order of the spec; parameters in that of the signature.
  const auto* inout = find_attr<std::vector<int64_t>>(spec.attrs, passes::kInoutAttr);
  std::map<size_t, size_t> result_of;  // parameter to result
  std::vector<size_t> out_params, in_params;
  for (size_t i = 0; i < kernel.modes.size(); ++i) {
    (kernel.modes[i] == AccessMode::kOut ? out_params : in_params).push_back(i);
  }
  size_t next = 0;
  for (size_t j = 0; j < fields.size(); ++j) {
    int64_t source = inout && j < inout->size() ? (*inout)[j] : -1;
    result_of[source >= 0 ? in_params.at(static_cast<size_t>(source)) : out_params.at(next++)] = j;
  }
  std::vector<op::RefTensor> ordered;
  for (size_t i = 0; i < kernel.modes.size(); ++i) {
    if (auto it = result_of.find(i); it != result_of.end()) ordered.push_back(fields[it->second]);
  }
  if (!wanted.empty()) {
    ordered.at(0).wanted = std::move(wanted);
    return ordered;
  }
  return answers_[index] = std::move(ordered);
}

Result<std::vector<HostTensor>> run_call(const Suite& suite, size_t index,
                                         runtime::KernelRunner& runner) {
  const SuiteCall& call = suite.calls[index];
  const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
  int32_t number = runner.executable().find_kernel(kernel.name);
  if (number < 0 || !runner.has(number)) {
    return fail(internal_error("the target has no kernel " + kernel.name));
  }
  std::vector<runtime::Tensor> args;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    bool fresh = kernel.modes[i] == AccessMode::kOut;
    const HostTensor& tensor = suite.tensors.at(fresh ? call.after[i] : call.before[i]);
    if (fresh) {
      // Not zero: an output that is not written shows.
      HostTensor garbage = HostTensor::zeros(tensor.dtype(), tensor.shape());
      for (std::byte& byte : garbage.mutable_bytes()) byte = std::byte{0x7b};
      TAPML_ASSIGN(runtime::Tensor arg, runtime::upload(runner.session(), garbage));
      args.push_back(std::move(arg));
    } else {
      TAPML_ASSIGN(runtime::Tensor arg, runtime::upload(runner.session(), tensor));
      args.push_back(std::move(arg));
    }
  }
  TAPML_TRY(runner.enqueue(number, args, call.scalars));
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] == AccessMode::kIn) continue;
    TAPML_ASSIGN(HostTensor output, runtime::download(args[i]));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

namespace {

// The verdict of a kernel before any call was looked at.
KernelVerdict no_calls(const SuiteKernel& info, const Judge& judge, int32_t kernel,
                       const runtime::KernelRunner& runner) {
  KernelVerdict verdict;
  verdict.kernel = info.name;
  verdict.against_source = !judge.has_specification(kernel);
  if (const Implementation* implementation =
          runner.executable().find_implementation(runner.executable().find_kernel(info.name))) {
    verdict.provider = implementation->provider;
  }
  return verdict;
}

// Runs call `c` and adds what it says to the verdict of its kernel.
Status add_call(const Suite& suite, Judge& judge, size_t c, runtime::KernelRunner& runner,
                KernelVerdict& verdict) {
  const SuiteCall& call = suite.calls[c];
  const SuiteKernel& info = suite.kernels[static_cast<size_t>(call.kernel)];
  std::vector<size_t> written;
  for (size_t i = 0; i < info.modes.size(); ++i) {
    if (info.modes[i] != AccessMode::kIn) written.push_back(i);
  }
  ++verdict.calls;
  verdict.origin = merge_origins(verdict.origin, call.origin);
  verdict.shapes.insert(shape_to_string(suite.tensors.at(call.after[written[0]]).shape()));
  auto outputs = run_call(suite, c, runner);
  if (!outputs) {
    if (outputs.error().kind == ErrorKind::kPlatform) return fail(outputs.error());
    verdict.passed = false;
    verdict.failure = outputs.error().message;
    return {};
  }
  auto expected = guard([&] { return judge.outputs(c, *outputs); });
  if (!expected) return fail(expected.error());
  for (size_t o = 0; o < written.size(); ++o) {
    Comparison comparison =
        compare((*outputs)[o], suite.tensors.at(call.after[written[o]]), (*expected)[o]);
    verdict.judged += comparison.target.judged;
    verdict.elements += (*outputs)[o].size();
    verdict.source_wrong |=
        comparison.outcome == Outcome::kSourceWrong || comparison.source.max_ratio > 1;
    bool worse = verdict.worst_sequence < 0 ||
                 comparison.target.max_ratio > verdict.worst.target.max_ratio ||
                 comparison.target.mask_mismatches > verdict.worst.target.mask_mismatches;
    if (worse) {
      verdict.worst = comparison;
      verdict.worst_output = info.params[written[o]];
      verdict.worst_sequence = call.sequence;
    }
    verdict.passed &= comparison.target_ok;
  }
  return {};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Result<KernelVerdict> replay_kernel(const Suite& suite, Judge& judge, int32_t kernel,
                                    runtime::KernelRunner& runner) {
  auto start = std::chrono::steady_clock::now();
  KernelVerdict verdict =
      no_calls(suite.kernels[static_cast<size_t>(kernel)], judge, kernel, runner);
  for (size_t c = 0; c < suite.calls.size() && verdict.failure.empty(); ++c) {
    if (suite.calls[c].kernel == kernel) TAPML_TRY(add_call(suite, judge, c, runner, verdict));
  }
  verdict.seconds = seconds_since(start);
  return verdict;
}

Result<KernelVerdict> replay_call(const Suite& suite, Judge& judge, size_t call,
                                  runtime::KernelRunner& runner) {
  auto start = std::chrono::steady_clock::now();
  const int32_t kernel = suite.calls[call].kernel;
  KernelVerdict verdict =
      no_calls(suite.kernels[static_cast<size_t>(kernel)], judge, kernel, runner);
  TAPML_TRY(add_call(suite, judge, call, runner, verdict));
  verdict.seconds = seconds_since(start);
  return verdict;
}

}  // namespace tapml::topdown
