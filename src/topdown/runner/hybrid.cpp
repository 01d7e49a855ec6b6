#include "topdown/runner/hybrid.h"

#include "runtime/offload.h"

namespace tapml::topdown {

namespace {

CallChoice calls_of(const std::set<std::string>& kernels) {
  return [&](const runtime::CallSite& site) { return kernels.contains(site.kernel->name); };
}

// Runs the model while the chosen calls go to `offload`.
std::vector<HostTensor> dispatched_outputs(ModelRunner& model, runtime::Offload& offload,
                                           const CallChoice& choice, const ForcedRun& run) {
  runtime::VirtualMachine& vm = model.vm();
  unwrap(vm.set_dispatch(offload.plan(vm.executable(), choice), &offload));
  auto outputs = guard([&] { return model.outputs(run); });
  unwrap(vm.set_dispatch({}, nullptr));
  return unwrap(std::move(outputs));
}

}  // namespace

Hybrid::Hybrid(ModelRunner& source, Sandbox& sandbox) : source_(source), sandbox_(sandbox) {
  sandbox.set_before_end([this](runtime::Session&) { residency_.reset(); });
}

Hybrid::~Hybrid() { sandbox_.set_before_end({}); }

ModelCheck Hybrid::check(const std::set<std::string>& kernels, const ModelReference& reference,
                         const ForcedRun& run) {
  return check(calls_of(kernels), reference, run);
}

ModelCheck Hybrid::check(const CallChoice& choice, const ModelReference& reference,
                         const ForcedRun& run) {
  runtime::KernelRunner& runner = sandbox_.runner();
  if (!residency_) residency_.emplace(runner.session());
  const runtime::CopyCount copied = residency_->copies();
  runtime::Offload offload(runner, *residency_);
  ModelCheck check = contained_check(
      sandbox_, reference, [&] { return dispatched_outputs(source_, offload, choice, run); });
  ++runs_;
  dispatched_ = offload.calls();
  copies_ = residency_->copies() - copied;
  if (!check.failure.empty()) sandbox_.restart();
  return check;
}

void TargetHybrid::end() {
  model_.reset();
  residency_.reset();
}

ModelCheck TargetHybrid::check(const std::set<std::string>& away, const ModelReference& reference,
                               const ForcedRun& run) {
  runtime::KernelRunner& runner = source_.runner();
  if (!residency_) residency_.emplace(runner.session());
  runtime::Offload offload(runner, *residency_);
  ModelCheck check = contained_check(target_, reference, [&] {
    if (!model_) model_ = ModelRunner::under_test(target_.session(), executable_, weights_);
    return dispatched_outputs(*model_, offload, calls_of(away), run);
  });
  if (!check.failure.empty()) {
    end();
    target_.restart();
  }
  return check;
}

}  // namespace tapml::topdown
