#include "topdown/replay/hybrid.h"

#include <map>

namespace tapml::topdown {

namespace {

// Sends kernels to a runner.
class Moved : public runtime::Dispatcher {
 public:
  Moved(runtime::KernelRunner& runner, const std::set<std::string>& kernels) : runner_(runner) {
    for (const std::string& kernel : kernels) {
      numbers_[kernel] = runner.executable().find_kernel(kernel);
    }
  }
  Route route(const runtime::CallSite& site) noexcept override {
    auto it = numbers_.find(site.kernel->name);
    return it == numbers_.end() || it->second < 0 ? Route{} : Route{&runner_, it->second};
  }

 private:
  runtime::KernelRunner& runner_;
  std::map<std::string, int32_t> numbers_;
};

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
  Moved moved(sandbox_.runner(), kernels);
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
  Moved moved(source_.runner(), away);
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
