// Hybrid runs: the source's machine with some kernels on the platform under test.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ir/exceptions.h"
#include "runtime/residency.h"
#include "topdown/reference_run/model_reference.h"
#include "topdown/runner/sandbox.h"

namespace tapml::topdown {

// Which calls run on the platform under test.
using CallChoice = std::function<bool(const runtime::CallSite& site)>;

class Hybrid {
 public:
  // `source`, whose machine may be remote (runtime::open_instrumented), and `sandbox`, which has
  // the target's executable loaded, outlive it.
  Hybrid(llm::Engine& source, Sandbox& sandbox);
  ~Hybrid();
  Hybrid(const Hybrid&) = delete;

  // Runs the model with `kernels` on the target. What contained_check() says is a check that
  // failed; other errors are thrown.
  ModelCheck check(const std::set<std::string>& kernels, const ModelReference& reference,
                   const ForcedRun& run);
  // The same with the calls that `choice` has.
  ModelCheck check(const CallChoice& choice, const ModelReference& reference, const ForcedRun& run);
  int64_t runs() const { return runs_; }
  // Of the last one: calls on the target, copies between the two sessions.
  int64_t dispatched() const { return dispatched_; }
  const runtime::CopyCount& copies() const { return copies_; }

 private:
  llm::Engine& source_;
  Sandbox& sandbox_;
  std::optional<runtime::Residency> there_;  // what of the source is on the sandbox's session
  int64_t runs_ = 0, dispatched_ = 0;
  runtime::CopyCount copies_;
};

// The other way round: the target's virtual machine with some kernels on the source. Kernels that
// stay run behind each other as in the target's own run, over its memory plan and without a wait.
// The machine is on this side: how long the target may take is said kernel by kernel.
class TargetHybrid {
 public:
  // All outlive it; `source` has the source's executable loaded.
  TargetHybrid(Sandbox& target, std::shared_ptr<const Executable> executable,
               const std::map<std::string, HostTensor>& weights, Sandbox& source)
      : target_(target), executable_(std::move(executable)), weights_(weights), source_(source) {}
  ~TargetHybrid() { end(); }
  TargetHybrid(const TargetHybrid&) = delete;

  // As Hybrid::check(), with `away` on the source.
  ModelCheck check(const std::set<std::string>& away, const ModelReference& reference,
                   const ForcedRun& run);

 private:
  void end();

  Sandbox& target_;
  std::shared_ptr<const Executable> executable_;
  const std::map<std::string, HostTensor>& weights_;
  Sandbox& source_;
  std::optional<runtime::Residency> there_;  // what of the target is on the source's session
  std::unique_ptr<llm::Engine> engine_;
};

// The logits that `run` gives, judged. A crash or hang that the sandbox contains is a check that
// failed, and so is a limit of the device: what a kernel is asked for beside the model's other
// calls may be more than in its tests. The sandbox is to be restarted then. Other errors are
// thrown.
template <class Run>
ModelCheck contained_check(const Sandbox& sandbox, const ModelReference& reference, Run&& run) {
  auto logits = guard(run);
  if (logits) return reference.check(*logits);
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
