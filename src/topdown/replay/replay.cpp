#include "topdown/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "analysis/cost.h"
#include "arith/analyzer.h"
#include "base/clock.h"
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
    const double s = source.at_f64(i), t = target[0].at_f64(i);
    if (s == t || (std::isnan(s) && std::isnan(t))) return 0.0;  // infinities, too
    const double d = std::abs(s - t);
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
  const bool all = wanted.empty();
  if (auto it = answers_.find(index); it != answers_.end() && all) return it->second;
  const SuiteCall& call = suite_.calls[index];
  const SuiteKernel& kernel = suite_.kernels[static_cast<size_t>(call.kernel)];
  if (!has_specification(call.kernel)) return source_outputs(call);
  std::vector<op::RefTensor> inputs;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] == AccessMode::kOut) continue;
    inputs.push_back(op::RefTensor::from(suite_.tensors.at(call.before[i])));
  }
  std::vector<op::RefTensor> outputs = evaluate(call, std::move(inputs), std::move(wanted));
  if (!all) return outputs;
  return answers_[index] = std::move(outputs);
}

std::vector<op::RefTensor> Judge::evaluate(const SuiteCall& call, std::vector<op::RefTensor> inputs,
                                           std::vector<uint8_t> wanted) const {
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
    if (auto it = result_of.find(i); it != result_of.end()) {
      ordered.push_back(std::move(fields[it->second]));
    }
  }
  if (!wanted.empty()) ordered.at(0).wanted = std::move(wanted);
  return ordered;
}

namespace {

// Around every tensor lies memory that no kernel may write: as far apart as the strictest platform
// wants bindings to begin.
constexpr int64_t kGuardBytes = kScratchAlignment;
constexpr std::byte kGuard{0x5a};
// Not zero: an output that is not written shows.
constexpr std::byte kUnwritten{0x7b};
// Inputs of more bytes are not read back, only what lies around them.
constexpr int64_t kMostReadBack = int64_t{4} << 20;

// Kernels may store whole 16-byte vectors, over the end of an output too.
int64_t padded_bytes(int64_t bytes) { return (bytes + 15) / 16 * 16; }
int64_t image_bytes(int64_t bytes) { return 2 * kGuardBytes + padded_bytes(bytes); }

// Writes of a tensor that is larger are made of its own bytes, without an image of it.
constexpr int64_t kLargeWrite = int64_t{64} << 10;

// `content` between guards. Writes begin at multiples of 16 bytes.
Status write_guarded(const runtime::Storage& storage, std::span<const std::byte> content) {
  const auto write = [&](int64_t at, std::span<const std::byte> bytes) {
    return storage.session().write(runtime::kDefaultStream, {storage.buffer(), at}, bytes);
  };
  int64_t at = 0, large = 0;
  std::vector<std::byte> image(kGuardBytes, kGuard);
  if (std::ssize(content) > kLargeWrite) {
    large = std::ssize(content) / 16 * 16;
    TAPML_TRY(write(0, image));
    TAPML_TRY(write(kGuardBytes, content.first(static_cast<size_t>(large))));
    image.clear();
    at = kGuardBytes + large;
  }
  const auto rest = content.subspan(static_cast<size_t>(large));
  image.insert(image.end(), rest.begin(), rest.end());
  image.resize(static_cast<size_t>(image_bytes(std::ssize(content)) - at), kGuard);
  return write(at, image);
}

// A tensor with guards around it, holding `content` or, where that is null, garbage.
Result<runtime::Tensor> guarded(runtime::Session& session, const HostTensor& like,
                                const HostTensor* content) {
  const auto bytes = static_cast<int64_t>(like.byte_size());
  TAPML_ASSIGN(auto storage, runtime::Storage::allocate(session, image_bytes(bytes)));
  if (content) {
    TAPML_TRY(write_guarded(*storage, content->bytes()));
  } else {
    TAPML_TRY(write_guarded(*storage, std::vector(static_cast<size_t>(bytes), kUnwritten)));
  }
  storage->written();
  return runtime::Tensor{std::move(storage), kGuardBytes, like.dtype(), like.shape()};
}

// A guarded tensor's bytes from `offset` of its image on.
Result<std::vector<std::byte>> read_image(const runtime::Tensor& tensor, int64_t offset,
                                          int64_t bytes) {
  std::vector<std::byte> image(static_cast<size_t>(bytes));
  TAPML_TRY(tensor.storage->session().read(runtime::kDefaultStream,
                                           {tensor.storage->buffer(), offset}, image));
  return image;
}

int64_t different_bytes(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

int64_t changed_guards(std::span<const std::byte> bytes) {
  return std::ranges::count_if(bytes, [](std::byte byte) { return byte != kGuard; });
}

// "64 bytes behind y": in front of, behind or of a tensor.
void add_strayed(std::string& strayed, int64_t count, const char* side, const std::string& name) {
  if (count == 0) return;
  strayed += (strayed.empty() ? "" : ", ") + std::to_string(count) + " bytes " + side + " " + name;
}

// The output's bytes; adds to `strayed` what lies around them and is not as it was.
Result<HostTensor> read_output(const runtime::Tensor& output, const std::string& name,
                               std::string* strayed) {
  const int64_t bytes = output.byte_size();
  TAPML_ASSIGN(const std::vector<std::byte> image, read_image(output, 0, image_bytes(bytes)));
  HostTensor tensor = HostTensor::zeros(output.dtype, output.shape);
  std::copy_n(image.begin() + kGuardBytes, bytes, tensor.mutable_bytes().begin());
  if (!strayed) return tensor;
  const std::span<const std::byte> all(image);
  add_strayed(*strayed, changed_guards(all.first(kGuardBytes)), "in front of", name);
  add_strayed(*strayed, changed_guards(all.last(kGuardBytes)), "behind", name);
  return tensor;
}

// Adds to `strayed` what of an input and around it is not as it was.
Status check_input(const runtime::Tensor& input, const HostTensor& before, const std::string& name,
                   std::string& strayed) {
  const int64_t bytes = input.byte_size(), end = image_bytes(bytes);
  const bool whole = bytes <= kMostReadBack;
  std::vector<std::byte> image, tail;
  TAPML_ASSIGN(image, read_image(input, 0, whole ? end : kGuardBytes));
  // Reads begin at multiples of 16 bytes.
  const int64_t from = whole ? 0 : kGuardBytes + bytes / 16 * 16;
  if (!whole) {
    TAPML_ASSIGN(tail, read_image(input, from, end - from));
  }
  const std::span<const std::byte> all(image);
  add_strayed(strayed, changed_guards(all.first(kGuardBytes)), "in front of", name);
  if (whole) {
    const auto found = all.subspan(kGuardBytes, static_cast<size_t>(bytes));
    add_strayed(strayed, different_bytes(found, before.bytes()), "of", name);
  }
  const std::span<const std::byte> last(whole ? image : tail);
  add_strayed(strayed,
              changed_guards(last.subspan(static_cast<size_t>(kGuardBytes + bytes - from))),
              "behind", name);
  return {};
}

}  // namespace

bool is_refusal(const Error& error) {
  return error.kind == ErrorKind::kUser || error.fault == PlatformFault::kLimit;
}

Failure failure_of(const Error& contained) {
  return contained.fault == PlatformFault::kTimeout ? Failure::kTimeout : Failure::kCrash;
}

void judge_source(KernelVerdict& verdict, const Errors& source, const std::string& output,
                  int64_t sequence) {
  if (within_bound(source)) return;
  verdict.source_wrong = true;
  std::optional<SourceError>& worst = verdict.source_error;
  if (worst && std::pair(worst->mask_mismatches, worst->ratio) >=
                   std::pair(source.mask_mismatches, source.max_ratio)) {
    return;
  }
  worst = {output,           sequence,
           source.max_abs,   source.bound_at_max,
           source.max_ratio, source.mask_mismatches};
}

const char* failure_name(Failure failure) {
  switch (failure) {
    case Failure::kNone:
      return "none";
    case Failure::kRefused:
      return "cannot run";
    case Failure::kCrash:
      return "crash";
    case Failure::kTimeout:
      return "timeout";
    case Failure::kOutOfBounds:
      return "out of bounds";
  }
  return "none";
}

Result<std::vector<runtime::Tensor>> make_arguments(const Suite& suite, size_t index,
                                                    runtime::Session& session) {
  const SuiteCall& call = suite.calls[index];
  const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
  std::vector<runtime::Tensor> args;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const bool fresh = kernel.modes[i] == AccessMode::kOut;
    const HostTensor& known = suite.tensors.at(fresh ? call.after[i] : call.before[i]);
    TAPML_ASSIGN(runtime::Tensor arg, guarded(session, known, fresh ? nullptr : &known));
    args.push_back(std::move(arg));
  }
  return args;
}

Result<std::vector<HostTensor>> run_call(const Suite& suite, size_t index,
                                         runtime::KernelRunner& runner, std::string* strayed) {
  const SuiteCall& call = suite.calls[index];
  const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
  int32_t number = runner.executable().find_kernel(kernel.name);
  if (number < 0 || !runner.has(number)) {
    return fail(platform_error(PlatformFault::kLimit,
                               "no code was made of the kernel: it computes in a dtype that " +
                                   runner.executable().target + " lacks",
                               "kernel " + kernel.name));
  }
  TAPML_ASSIGN(std::vector<runtime::Tensor> args, make_arguments(suite, index, runner.session()));
  TAPML_TRY(runner.enqueue(number, args, call.scalars));
  std::vector<HostTensor> outputs;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.modes[i] == AccessMode::kIn) continue;
    TAPML_ASSIGN(HostTensor output, read_output(args[i], kernel.params[i], strayed));
    outputs.push_back(std::move(output));
  }
  for (size_t i = 0; i < kernel.params.size() && strayed; ++i) {
    if (kernel.modes[i] != AccessMode::kIn) continue;
    TAPML_TRY(check_input(args[i], suite.tensors.at(call.before[i]), kernel.params[i], *strayed));
  }
  return outputs;
}

namespace {

// How many elements of an output hold what it held before the call.
int64_t unwritten_elements(const HostTensor& output) {
  const auto bytes = output.bytes();
  const auto width = static_cast<std::ptrdiff_t>(dtype_bytes(output.dtype()));
  int64_t count = 0;
  for (auto at = bytes.begin(); at != bytes.end(); at += width) {
    count += std::all_of(at, at + width, [](std::byte byte) { return byte == kUnwritten; });
  }
  return count;
}

// Runs a call for a verdict.
using RunCall = std::function<Result<std::vector<HostTensor>>(size_t call, KernelVerdict& verdict)>;

Result<KernelVerdict> replay_calls(const Suite& suite, Judge& judge, int32_t kernel,
                                   const Executable& executable, const RunCall& run,
                                   std::optional<size_t> only = std::nullopt) {
  const double start = seconds_now();
  const SuiteKernel& info = suite.kernels[static_cast<size_t>(kernel)];
  KernelVerdict verdict;
  verdict.kernel = info.name;
  const Tolerance* tolerance = judge.tolerances().find(info.name);
  if (tolerance) verdict.tolerance = *tolerance;
  verdict.against_source = !judge.has_specification(kernel);
  if (const Implementation* implementation =
          executable.find_implementation(executable.find_kernel(info.name))) {
    verdict.provider = implementation->provider;
  }
  std::vector<size_t> written;
  for (size_t i = 0; i < info.modes.size(); ++i) {
    if (info.modes[i] != AccessMode::kIn) written.push_back(i);
  }
  for (size_t c = 0; c < suite.calls.size(); ++c) {
    const SuiteCall& call = suite.calls[c];
    if (call.kernel != kernel || (only && *only != c)) continue;
    ++verdict.calls;
    ++group_of(verdict.groups, call).calls;
    verdict.origin = merge_origins(verdict.origin, call.origin);
    verdict.shapes.insert(shape_to_string(suite.tensors.at(call.after[written[0]]).shape()));
    if (verdict.failed != Failure::kNone) continue;
    auto outputs = run(c, verdict);
    if (!outputs) {
      if (verdict.failed == Failure::kNone) {
        if (!is_refusal(outputs.error())) return fail(outputs.error());
        verdict.failed = Failure::kRefused;
        verdict.failure = outputs.error().message;
      }
      verdict.worst_sequence = call.sequence;
      continue;
    }
    auto expected = guard([&] { return judge.outputs(c, *outputs); });
    if (!expected) return fail(expected.error());
    CallGroup& group = group_of(verdict.groups, call);
    ++group.judged;
    for (size_t o = 0; o < written.size(); ++o) {
      Comparison comparison = compare((*outputs)[o], suite.tensors.at(call.after[written[o]]),
                                      (*expected)[o], tolerance);
      verdict.tolerated |= comparison.tolerated;
      verdict.judged += comparison.target.judged;
      verdict.elements += (*outputs)[o].size();
      judge_source(verdict, comparison.source, info.params[written[o]], call.sequence);
      group.ratio = std::max(group.ratio, comparison.target.mask_mismatches > 0
                                              ? std::numeric_limits<double>::infinity()
                                              : comparison.target.max_ratio);
      if (verdict.worst_sequence < 0 || is_worse(comparison, verdict.worst)) {
        verdict.worst = comparison;
        verdict.worst_output = info.params[written[o]];
        verdict.worst_sequence = call.sequence;
        verdict.difference.reset();
        if (!comparison.target_ok) {
          verdict.difference =
              difference_map((*outputs)[o], (*expected)[o], comparison.slack, tolerance);
        }
      }
      verdict.passed &= comparison.target_ok;
      if (comparison.target_ok || info.modes[written[o]] != AccessMode::kOut) continue;
      if (const int64_t left = unwritten_elements((*outputs)[o]);
          left > 0 && verdict.note.empty()) {
        verdict.note = std::to_string(left) + " of " + std::to_string((*outputs)[o].size()) +
                       " elements of " + info.params[written[o]] + " were not written";
      }
    }
  }
  if (verdict.calls == 0) {
    return fail(user_error("the suite has no test of this kernel", "kernel " + info.name,
                           "one call at least", "none", "carve a run that calls it"));
  }
  verdict.passed &= verdict.failed == Failure::kNone;
  verdict.tolerated &= verdict.passed;
  verdict.seconds = seconds_now() - start;
  return verdict;
}

Result<std::vector<HostTensor>> run_watched(const Suite& suite, size_t call,
                                            runtime::KernelRunner& runner, KernelVerdict& verdict) {
  std::string strayed;
  auto outputs = run_call(suite, call, runner, &strayed);
  if (!outputs || strayed.empty()) return outputs;
  verdict.failed = Failure::kOutOfBounds;
  verdict.failure = "writes outside of its outputs: " + strayed;
  return fail(user_error(verdict.failure));
}

Result<std::vector<HostTensor>> run_call_contained(const Suite& suite, size_t call,
                                                   Sandbox& sandbox, KernelVerdict& verdict) {
  std::vector<HostTensor> outputs;
  TAPML_TRY(run_contained(sandbox, verdict, [&](runtime::KernelRunner& runner) -> Status {
    TAPML_ASSIGN(outputs, run_watched(suite, call, runner, verdict));
    return {};
  }));
  return outputs;
}

}  // namespace

Status run_contained(Sandbox& sandbox, KernelVerdict& verdict,
                     const std::function<Status(runtime::KernelRunner&)>& run) {
  Status ran = run(sandbox.runner());
  if (!ran && sandbox.lost(ran.error())) {
    // Nothing that the kernel did. Where the next session is lost, too, it is the platform's error.
    sandbox.restart();
    ran = run(sandbox.runner());
  }
  if (ran || !sandbox.contains(ran.error())) return ran;
  sandbox.restart();
  const Error first = ran.error();
  if (first.fault != PlatformFault::kTimeout) {
    // What ran before it in the process may have done the harm.
    ran = run(sandbox.runner());
    if (ran || !sandbox.contains(ran.error())) {
      verdict.note =
          "crashed once, and not again in a fresh process, so that a kernel before it "
          "may write out of bounds: " +
          first.message;
      return ran;
    }
    sandbox.restart();
  }
  verdict.failed = failure_of(ran.error());
  verdict.failure = ran.error().message;
  return ran;
}

Result<KernelVerdict> replay_kernel(const Suite& suite, Judge& judge, int32_t kernel,
                                    runtime::KernelRunner& runner) {
  return replay_calls(suite, judge, kernel, runner.executable(),
                      [&](size_t call, KernelVerdict& verdict) {
                        return run_watched(suite, call, runner, verdict);
                      });
}

Result<KernelVerdict> replay_kernel(const Suite& suite, Judge& judge, int32_t kernel,
                                    Sandbox& sandbox) {
  return replay_calls(suite, judge, kernel, sandbox.runner().executable(),
                      [&](size_t call, KernelVerdict& verdict) {
                        return run_call_contained(suite, call, sandbox, verdict);
                      });
}

Result<KernelVerdict> replay_call(const Suite& suite, Judge& judge, size_t call, Sandbox& sandbox) {
  auto run = [&](size_t one, KernelVerdict& verdict) {
    return run_call_contained(suite, one, sandbox, verdict);
  };
  return replay_calls(suite, judge, suite.calls[call].kernel, sandbox.runner().executable(), run,
                      call);
}

}  // namespace tapml::topdown
