// Hybrid runs: the source's VM with some kernels on the platform under test.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ir/exceptions.h"
#include "runtime/residency.h"
#include "topdown/reference_run/model_runner.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

// Which calls run on the platform under test.
using CallChoice = std::function<bool(const runtime::CallSite& site)>;

class Hybrid {
 public:
  // `source`, whose VM may be remote (runtime::open_instrumented), and `sandbox`, which has the
  // target's executable loaded, outlive it.
  Hybrid(ModelRunner& source, Sandbox& sandbox);
  ~Hybrid();
  Hybrid(const Hybrid&) = delete;

  // Runs the model with `kernels` on the target. Errors that contained_check() handles are failed
  // checks; other errors are thrown.
  ModelCheck check(const std::set<std::string>& kernels, const ModelReference& reference,
                   const ForcedRun& run);
  // The same with the calls that `choice` selects.
  ModelCheck check(const CallChoice& choice, const ModelReference& reference, const ForcedRun& run);
  int64_t runs() const { return runs_; }
  // Of the last run: calls on the target, copies between the two sessions.
  int64_t dispatched() const { return dispatched_; }
  const runtime::CopyCount& copies() const { return copies_; }

 private:
  ModelRunner& source_;
  Sandbox& sandbox_;
  std::optional<runtime::Residency> residency_;  // the source's tensors on the sandbox's session
  int64_t runs_ = 0, dispatched_ = 0;
  runtime::CopyCount copies_;
};

// The reverse: the target's VM with some kernels on the source. The kernels that stay run one after
// the other as in the target's own run, with its memory plan and without waits. The VM is local, so
// that the time limit of the target is per kernel.
class TargetHybrid {
 public:
  // All outlive it; `source` has the source's executable loaded.
  TargetHybrid(Sandbox& target, std::shared_ptr<const Executable> executable,
               const std::map<std::string, HostTensor>& weights, Sandbox& source)
      : target_(target), executable_(std::move(executable)), weights_(weights), source_(source) {}
  ~TargetHybrid() { end(); }
  TargetHybrid(const TargetHybrid&) = delete;

  // As Hybrid::check(), with the kernels of `away` on the source.
  ModelCheck check(const std::set<std::string>& away, const ModelReference& reference,
                   const ForcedRun& run);

 private:
  void end();

  Sandbox& target_;
  std::shared_ptr<const Executable> executable_;
  const std::map<std::string, HostTensor>& weights_;
  Sandbox& source_;
  std::optional<runtime::Residency> residency_;  // the target's tensors on the source's session
  std::optional<ModelRunner> model_;
};

// Checks the logits that `run` returns, with the allowances of the sandbox's target. A crash or
// hang that the sandbox contains is a failed check, and so is a limit of the device: calls in the
// model may need more than those in the tests. The sandbox must be restarted then. Other errors are
// thrown.
template <class Run>
ModelCheck contained_check(const Sandbox& sandbox, const ModelReference& reference, Run&& run) {
  auto logits = guard(run);
  if (logits) {
    return reference.check(*logits, sandbox.target().description.allowances);
  }
  const bool limit = logits.error().fault == PlatformFault::kLimit;
  if (!limit && !sandbox.contains(logits.error())) throw_error(logits.error());
  ModelCheck check;
  check.passed = false;
  check.bound = reference.bound();
  check.failure = logits.error().message;
  check.hung = logits.error().fault == PlatformFault::kTimeout;
  return check;
}

}  // namespace tapml::topdown
