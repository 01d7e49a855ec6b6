// The verdict on one kernel, from repeated launches.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/rng.h"
#include "ir/exceptions.h"
#include "runtime/launch_note.h"
#include "topdown/reference_run/allowed.h"
#include "topdown/replay/replay.h"
#include "topdown/runner/call_runner.h"
#include "topdown/runner/contained_run.h"
#include "topdown/runner/guarded_tensor.h"
#include "topdown/runner/out_of_bounds_argument.h"

namespace tapml::topdown {

namespace {

// Calls of other kernels that run between launches: their number, and the bytes of each at most.
constexpr size_t kMostOthers = 4;
constexpr size_t kLargestOther = size_t{256} << 10;
// Calls that are launched a second time at least.
constexpr int64_t kLeastRepeated = 4;

// Number of elements of an output that still hold what they held before the call.
int64_t unwritten_elements(const HostTensor& output) {
  const auto bytes = output.bytes();
  const auto width = static_cast<std::ptrdiff_t>(dtype_bytes(output.dtype()));
  int64_t count = 0;
  for (auto at = bytes.begin(); at != bytes.end(); at += width) {
    count += std::all_of(at, at + width, [](std::byte byte) { return byte == kUnwritten; });
  }
  return count;
}

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = a[i].bytes(), y = b[i].bytes();
    if (x.size() != y.size()) return false;
    if (!x.empty() && std::memcmp(x.data(), y.data(), x.size()) != 0) return false;
  }
  return a.size() == b.size();
}

template <class T>
void shuffle(std::vector<T>& items, RandomStream& random) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[random.below(static_cast<uint32_t>(i))]);
  }
}

void add_note(KernelVerdict& verdict, const std::string& text) {
  if (text.empty()) return;
  verdict.note += (verdict.note.empty() ? "" : "; ") + text;
}

size_t call_bytes(const Suite& suite, const SuiteCall& call) {
  size_t bytes = 0;
  for (const auto* hashes : {&call.before, &call.after}) {
    for (const std::string& hash : *hashes) {
      if (!hash.empty()) bytes += suite.tensors.at(hash).byte_size();
    }
  }
  return bytes;
}

class KernelReplay {
 public:
  // Launches on `runner`, or on the sandbox if that is null.
  KernelReplay(const Suite& suite, KernelReference& reference, int32_t kernel,
               runtime::KernelRunner* runner, Sandbox* sandbox, const ReplayOptions& options)
      : suite_(suite),
        reference_(reference),
        kernel_(kernel),
        info_(suite.kernels[static_cast<size_t>(kernel)]),
        runner_(runner),
        sandbox_(sandbox),
        options_(options),
        allowances_(sandbox ? sandbox->target().description.allowances : options.allowances),
        random_(options.seed, "launches of " + info_.name),
        calls_(suite),
        others_(suite) {}

  Result<KernelVerdict> run(std::optional<size_t> only) {
    const double start = seconds_now();
    prepare(only);
    if (verdict_.calls == 0) {
      return fail(user_error("the suite has no test of this kernel", "kernel " + info_.name,
                             "one call at least", "none", "carve a run that calls it"));
    }
    Status launched = launch_all();
    if (launched && verdict_.failed == Failure::kNone) launched = check_kept();
    if (launched && verdict_.failed == Failure::kNone) launched = find_cause();
    forget();
    if (!launched && verdict_.failed == Failure::kNone) return fail(launched.error());
    finish();
    verdict_.seconds = seconds_now() - start;
    return std::move(verdict_);
  }

 private:
  // The results of the launches of a call.
  struct Seen {
    std::vector<HostTensor> first;  // outputs
    bool first_right = true;
    int64_t launches = 0;
    bool right = false, wrong = false;  // in some launch
  };

  void prepare(std::optional<size_t> only);
  Status launch_all();
  Result<std::vector<HostTensor>> launch(size_t call);
  Result<std::vector<HostTensor>> launch_once(size_t call);
  Status launch_wrong_again();
  Status launch_between();
  Status compare_launch(size_t call, std::vector<HostTensor> outputs);
  Result<bool> compare_outputs(size_t call, const std::vector<HostTensor>& outputs, bool first);
  Status check_kept();
  Status find_cause();
  Status fail_launch(Failure failure, const std::string& text);
  void finish();
  void forget() {
    calls_.forget();
    others_.forget();
  }
  runtime::KernelRunner& runner() { return runner_ ? *runner_ : sandbox_->runner_of(info_.name); }

  const Suite& suite_;
  KernelReference& reference_;
  const int32_t kernel_;
  const SuiteKernel& info_;
  runtime::KernelRunner* const runner_;
  Sandbox* const sandbox_;
  const ReplayOptions options_;
  const Allowances allowances_;  // of the target
  RandomStream random_;
  CallRunner calls_, others_;
  std::vector<size_t> tests_;    // its calls in the suite
  std::vector<size_t> between_;  // calls of others
  std::vector<size_t> written_;  // parameters
  std::map<size_t, Seen> seen_;  // by call
  std::string crash_;            // that happened once
  const Tolerance* tolerance_ = nullptr;
  Allowances needed_;  // by the launches that are right
  KernelVerdict verdict_;
};

void KernelReplay::prepare(std::optional<size_t> only) {
  verdict_.kernel = info_.name;
  verdict_.launches.seed = options_.seed;
  tolerance_ = reference_.tolerances().find(info_.name);
  if (tolerance_) verdict_.tolerance = *tolerance_;
  verdict_.against_source = !reference_.has_specification(kernel_);
  for (size_t i = 0; i < info_.modes.size(); ++i) {
    if (info_.modes[i] != AccessMode::kIn) written_.push_back(i);
  }
  for (size_t c = 0; c < suite_.calls.size(); ++c) {
    const SuiteCall& call = suite_.calls[c];
    const std::string& name = suite_.kernels[static_cast<size_t>(call.kernel)].name;
    if (call.kernel != kernel_) {
      const bool known = sandbox_ && sandbox_->right().contains(name);
      if (known && call_bytes(suite_, call) <= kLargestOther) between_.push_back(c);
      continue;
    }
    if (only && *only != c) continue;
    tests_.push_back(c);
    ++verdict_.calls;
    ++group_of(verdict_.groups, call).calls;
    verdict_.origin = merge_origins(verdict_.origin, call.origin);
    verdict_.shapes.insert(shape_to_string(suite_.tensors.at(call.after[written_[0]]).shape()));
  }
  // The order of its own launches does not depend on other kernels.
  RandomStream random(options_.seed, "calls between launches of " + info_.name);
  shuffle(between_, random);
  if (between_.size() > kMostOthers) between_.resize(kMostOthers);
  if (tests_.empty()) return;
  const Executable& executable = runner().executable();
  if (const Implementation* implementation =
          executable.find_implementation(executable.find_kernel(info_.name))) {
    verdict_.provider = implementation->provider;
  }
}

Status KernelReplay::launch_all() {
  const double start = seconds_now();
  double most = 0;  // the time limit for launches after the first ones
  // Some calls run twice, however many there are.
  const int64_t tests = std::ssize(tests_);
  int64_t wanted = std::max(options_.launches, tests + std::min(tests, kLeastRepeated));
  std::vector<size_t> order;
  for (int64_t n = 0; n < wanted; ++n) {
    tell(reference_.watcher(), {"launch", n, wanted, ""});
    const size_t at = static_cast<size_t>(n) % tests_.size();
    if (at == 0) {
      order = tests_;
      shuffle(order, random_);
    }
    if (n == std::ssize(tests_)) {
      const double now = seconds_now();
      most = now + std::max(options_.seconds, (now - start) / 2);
    }
    if (n >= std::ssize(tests_) && seconds_now() > most) {
      verdict_.launches.cut = true;
      break;
    }
    if (n % 2 == 1) TAPML_TRY(launch_between());
    const bool crashed = !crash_.empty();
    auto outputs = launch(order[at]);
    if (!outputs) {
      if (verdict_.failed == Failure::kNone) {
        if (!is_refusal(outputs.error())) return fail(outputs.error());
        verdict_.failed = Failure::kRefused;
        verdict_.failure = outputs.error().message;
      } else {
        ++verdict_.launches.launches;
        ++verdict_.launches.wrong;
      }
      verdict_.worst_sequence = suite_.calls[order[at]].sequence;
      return {};
    }
    // Use the same number of launches to see whether the crash repeats.
    if (!crashed && !crash_.empty()) wanted += options_.launches;
    TAPML_TRY(compare_launch(order[at], std::move(*outputs)));
  }
  return launch_wrong_again();
}

// Whether a call that was wrong in its only launch is always wrong: with many tests, most are
// launched once.
Status KernelReplay::launch_wrong_again() {
  std::vector<size_t> wrong;
  for (const auto& [call, seen] : seen_) {
    const bool once = seen.launches == 1 && seen.wrong;
    if (once && std::ssize(wrong) < kLeastRepeated) wrong.push_back(call);
  }
  for (const size_t call : wrong) {
    auto outputs = launch(call);
    if (!outputs) return verdict_.failed == Failure::kNone ? fail(outputs.error()) : Status{};
    TAPML_TRY(compare_launch(call, std::move(*outputs)));
  }
  return {};
}

Status KernelReplay::fail_launch(Failure failure, const std::string& text) {
  verdict_.failed = failure;
  verdict_.failure = text;
  return fail(user_error(text));
}

// One launch, with its writes watched.
Result<std::vector<HostTensor>> KernelReplay::launch_once(size_t call) {
  std::string out_of_bounds_writes;
  TAPML_ASSIGN(std::vector<HostTensor> outputs, calls_.run(call, runner(), &out_of_bounds_writes));
  if (!out_of_bounds_writes.empty()) {
    return fail(
        fail_launch(Failure::kOutOfBounds, "writes outside of its outputs: " + out_of_bounds_writes)
            .error());
  }
  return outputs;
}

// The same, until the result is known; `failed` of the verdict is set if the launch did harm.
Result<std::vector<HostTensor>> KernelReplay::launch(size_t call) {
  bool opened_again = false;
  while (true) {
    auto outputs = launch_once(call);
    if (outputs || verdict_.failed != Failure::kNone) return outputs;
    const Error error = outputs.error();
    const auto stray = out_of_bounds_argument(suite_, call, runner().executable(), error.message);
    if (runtime::is_misbehavior(error)) {
      const std::string text = stray ? "writes outside of its outputs: " + *stray : error.message;
      std::ignore = fail_launch(stray ? Failure::kOutOfBounds : Failure::kSideEffect, text);
      return outputs;
    }
    if (!sandbox_) return outputs;
    const bool lost = sandbox_->lost(error);
    if (!lost && !sandbox_->contains(error)) return outputs;
    // A kernel that ran earlier in the process may be at fault.
    const bool own = !lost && (stray || !crash_.empty() || sandbox_->is_alone(info_.name) ||
                               error.fault == PlatformFault::kTimeout);
    forget();
    sandbox_->restart();
    if (own) {
      const std::string text = stray ? *stray + ": " + error.message : error.message;
      std::ignore = fail_launch(stray ? Failure::kOutOfBounds : failure_of(error), text);
      return outputs;
    }
    // The kernel is not at fault for a lost session. If the next one is lost, too, it is the
    // platform's error.
    if (lost && std::exchange(opened_again, true)) return outputs;
    if (!lost) crash_ = error.message;
  }
}

// Launches another kernel. Its failures are not blamed on this kernel.
Status KernelReplay::launch_between() {
  if (between_.empty()) return {};
  const size_t call = between_[static_cast<size_t>(verdict_.launches.launches) % between_.size()];
  runtime::KernelRunner& runner = this->runner();
  Status ran = others_.enqueue(call, runner);
  if (ran) ran = runner.session().synchronize(runtime::kDefaultStream);
  if (ran) return {};
  between_.clear();
  if (!sandbox_->contains(ran.error()) && !sandbox_->lost(ran.error())) {
    return is_refusal(ran.error()) ? Status{} : ran;
  }
  forget();
  sandbox_->restart();
  return {};
}

Status KernelReplay::compare_launch(size_t call, std::vector<HostTensor> outputs) {
  LaunchCount& count = verdict_.launches;
  ++count.launches;
  const auto known = seen_.find(call);
  bool right = true;
  if (known != seen_.end() && same_bits(known->second.first, outputs)) {
    right = known->second.first_right;
  } else {
    if (known != seen_.end()) ++count.unequal;
    TAPML_ASSIGN(right, compare_outputs(call, outputs, known == seen_.end()));
  }
  Seen& seen = seen_[call];
  if (seen.first.empty()) {
    seen.first = std::move(outputs);
    seen.first_right = right;
  }
  ++seen.launches;
  (right ? seen.right : seen.wrong) = true;
  count.wrong += right ? 0 : 1;
  count.flaky |= seen.right && seen.wrong;
  return {};
}

// Whether all outputs are within their bounds.
Result<bool> KernelReplay::compare_outputs(size_t c, const std::vector<HostTensor>& outputs,
                                           bool first) {
  const SuiteCall& call = suite_.calls[c];
  // By allowances_text(), as far as they are needed.
  std::map<std::string, std::vector<op::RefTensor>> expected;
  const auto expected_with = [&](const Allowances& allowed) -> const std::vector<op::RefTensor>& {
    std::vector<op::RefTensor>& result = expected[allowances_text(allowed)];
    if (result.empty()) result = reference_.outputs(c, outputs, allowed);
    return result;
  };
  CallGroup& group = group_of(verdict_.groups, call);
  if (first) ++group.compared;
  bool right = true;
  for (size_t o = 0; o < written_.size(); ++o) {
    const std::string& name = info_.params[written_[o]];
    TAPML_ASSIGN(const Comparison comparison, guard([&] {
                   return compare_allowed(
                       outputs[o], suite_.tensors.at(call.after[written_[o]]),
                       [&](const Allowances& allowed) -> const op::RefTensor& {
                         return expected_with(allowed).at(o);
                       },
                       allowances_, reference_.source_allowances(), tolerance_);
                 }));
    verdict_.tolerated |= comparison.tolerated;
    if (comparison.target_ok) needed_ = needed_.with(comparison.allowances);
    if (first) count_elements(verdict_, name, outputs[o].size(), comparison.target);
    check_source(verdict_, comparison.source, name, call.sequence);
    group.ratio = std::max(group.ratio, comparison.target.mask_mismatches > 0
                                            ? std::numeric_limits<double>::infinity()
                                            : comparison.target.max_ratio);
    if (verdict_.worst_sequence < 0 || is_worse(comparison, verdict_.worst)) {
      verdict_.worst = comparison;
      verdict_.worst_output = name;
      verdict_.worst_sequence = call.sequence;
      verdict_.difference.reset();
      if (!comparison.target_ok) {
        verdict_.difference = difference_map(outputs[o], expected_with(comparison.allowances).at(o),
                                             comparison.slack, tolerance_);
      }
    }
    right &= comparison.target_ok;
    if (comparison.target_ok || info_.modes[written_[o]] != AccessMode::kOut) continue;
    if (const int64_t left = unwritten_elements(outputs[o]); left > 0 && verdict_.note.empty()) {
      verdict_.note = std::to_string(left) + " of " + std::to_string(outputs[o].size()) +
                      " elements of " + name + " were not written";
    }
  }
  verdict_.passed &= right;
  return right;
}

// Checks the inputs after all launches: reading them back takes longer than most launches.
Status KernelReplay::check_kept() {
  std::string out_of_bounds_writes;
  size_t call = 0;
  TAPML_TRY(calls_.check_kept(out_of_bounds_writes, call));
  if (out_of_bounds_writes.empty()) return {};
  // Other calls read the input, too, and one of them may have written it.
  for (const size_t other : tests_) {
    std::string again;
    size_t writes = call;
    calls_.forget();
    if (!calls_.enqueue(other, runner()) || !calls_.check_kept(again, writes)) break;
    if (again.empty()) continue;
    call = writes;
    break;
  }
  verdict_.worst_sequence = suite_.calls[call].sequence;
  return fail_launch(Failure::kOutOfBounds,
                     "writes outside of its outputs: " + out_of_bounds_writes);
}

// Looks for a cause of lower precision in the worst call: to name it, or because one may hide where
// honest rounding has errors as large.
Status KernelReplay::find_cause() {
  Comparison& worst = verdict_.worst;
  const bool imprecise = !worst.target.precision.passed();
  if (!worst.target.precision.cause.empty() || tolerance_) return {};
  if (!worst.target_ok && !imprecise) return {};
  for (const auto& [call, seen] : seen_) {
    if (suite_.calls[call].sequence != verdict_.worst_sequence || seen.first.size() != 1) continue;
    const size_t tested = call;
    const std::vector<HostTensor>& outputs = seen.first;
    TAPML_ASSIGN(const SuspectedCause* cause, guard([&] {
                   return reference_.likely_cause(tested, outputs, imprecise, worst.allowances);
                 }));
    if (cause == nullptr) return {};
    const Allowances specified = reference_.specified_allowances(kernel_);
    if (covers(specified, cause->products)) return {};
    for (const Allowances& allowances : allowances_to_try(allowances_)) {
      if (!covers(allowances.with(specified), cause->products)) continue;
      if (worst.target_ok) needed_ = needed_.with(allowances);
      return {};
    }
    OutputPrecision& precision = worst.target.precision;
    precision.cause = cause->name;
    if (worst.target_ok) {
      precision.where = "the shape of its errors";
      settle(worst);
      verdict_.passed = false;
    }
    return {};
  }
  return {};
}

void KernelReplay::finish() {
  verdict_.passed &= verdict_.failed == Failure::kNone;
  const OutputPrecision& precision = verdict_.worst.target.precision;
  const bool always = verdict_.launches.wrong == verdict_.launches.launches;
  if (verdict_.worst.outcome == Outcome::kImprecise || (!precision.cause.empty() && always)) {
    add_note(verdict_, precision_text(precision));
  }
  verdict_.tolerated &= verdict_.passed;
  const Allowances& tried = verdict_.worst.allowances;
  if (verdict_.passed) {
    verdict_.allowances = allowances_text(needed_);
  } else if (tried.of_products()) {
    // Relaxed division alone is no more than what some platforms document.
    verdict_.allowances = allowances_text(tried);
  }
  add_note(verdict_, launches_text(verdict_.launches));
  if (!crash_.empty() && verdict_.failed == Failure::kNone) {
    add_note(verdict_,
             "crashed once, but not again in a fresh process; an earlier kernel may write "
             "out of bounds: " +
                 crash_);
  }
  if (verdict_.passed && sandbox_) sandbox_->add_right(info_.name);
}

}  // namespace

Result<KernelVerdict> replay_kernel(const Suite& suite, KernelReference& reference, int32_t kernel,
                                    runtime::KernelRunner& runner, const ReplayOptions& options) {
  return KernelReplay(suite, reference, kernel, &runner, nullptr, options).run(std::nullopt);
}

Result<KernelVerdict> replay_kernel(const Suite& suite, KernelReference& reference, int32_t kernel,
                                    Sandbox& sandbox, const ReplayOptions& options) {
  return KernelReplay(suite, reference, kernel, nullptr, &sandbox, options).run(std::nullopt);
}

Result<KernelVerdict> replay_call(const Suite& suite, KernelReference& reference, size_t call,
                                  Sandbox& sandbox) {
  return KernelReplay(suite, reference, suite.calls[call].kernel, nullptr, &sandbox, {}).run(call);
}

}  // namespace tapml::topdown
