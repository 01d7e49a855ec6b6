#include "topdown/replay/hybrid.h"

#include <map>

namespace tapml::topdown {

namespace {

// Sends calls to a runner.
class Moved : public runtime::Dispatcher {
 public:
  Moved(runtime::KernelRunner& runner, CallChoice choice)
      : runner_(runner), choice_(std::move(choice)) {
    const std::vector<KernelInfo>& kernels = runner.executable().kernels;
    for (size_t i = 0; i < kernels.size(); ++i) {
      numbers_[kernels[i].name] = static_cast<int32_t>(i);
    }
  }
  Route route(const runtime::CallSite& site) noexcept override {
    auto it = numbers_.find(site.kernel->name);
    return it == numbers_.end() || !choice_(site) ? Route{} : Route{&runner_, it->second};
  }

 private:
  runtime::KernelRunner& runner_;
  CallChoice choice_;
  std::map<std::string, int32_t> numbers_;
};

CallChoice calls_of(const std::set<std::string>& kernels) {
  return [&](const runtime::CallSite& site) { return kernels.contains(site.kernel->name); };
}

}  // namespace

Hybrid::Hybrid(llm::Engine& source, Sandbox& sandbox) : source_(source), sandbox_(sandbox) {
  sandbox.set_before_end(
      [this](runtime::Session& session) { source_.vm().call_point().forget(session); });
}

Hybrid::~Hybrid() {
  if (runtime::Session* session = sandbox_.current()) source_.vm().call_point().forget(*session);
  sandbox_.set_before_end({});
}

ModelCheck Hybrid::check(const std::set<std::string>& kernels, const ModelJudge& judge,
                         const ForcedRun& run) {
  return check(calls_of(kernels), judge, run);
}

ModelCheck Hybrid::check(const CallChoice& choice, const ModelJudge& judge, const ForcedRun& run) {
  Moved moved(sandbox_.runner(), choice);
  runtime::CallPoint& call_point = source_.vm().call_point();
  const int64_t before = call_point.dispatched();
  const runtime::CopyCount copied = call_point.copies();
  call_point.set_dispatcher(&moved);
  auto checked = guard([&] {
    return contained_check(sandbox_, judge, [&] { return forced_logits(source_, run); });
  });
  call_point.set_dispatcher(nullptr);
  ++runs_;
  dispatched_ = call_point.dispatched() - before;
  copies_ = call_point.copies() - copied;
  ModelCheck check = unwrap(std::move(checked));
  if (!check.failure.empty()) sandbox_.restart();
  return check;
}

void TargetHybrid::end() {
  if (engine_) engine_->vm().call_point().forget(source_.session());
  engine_.reset();
}

ModelCheck TargetHybrid::check(const std::set<std::string>& away, const ModelJudge& judge,
                               const ForcedRun& run) {
  Moved moved(source_.runner(), calls_of(away));
  ModelCheck check = contained_check(target_, judge, [&] {
    if (!engine_) {
      engine_ = unwrap(llm::Engine::create(target_.session(), executable_, weights_));
    }
    engine_->vm().call_point().set_dispatcher(&moved);
    auto logits = guard([&] { return forced_logits(*engine_, run); });
    engine_->vm().call_point().set_dispatcher(nullptr);
    return unwrap(std::move(logits));
  });
  if (!check.failure.empty()) {
    end();
    target_.restart();
  }
  return check;
}

}  // namespace tapml::topdown
