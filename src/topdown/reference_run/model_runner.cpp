#include "topdown/reference_run/model_runner.h"

#include <algorithm>
#include <cmath>

#include "ir/exceptions.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::topdown {

namespace {

// The number of the first vector that has a number that is not finite; -1: none.
int64_t not_finite(const HostTensor& vectors) {
  const auto values = vectors.values<float>();
  const auto found = std::ranges::find_if(values, [](float one) { return !std::isfinite(one); });
  return found == values.end() ? -1 : (found - values.begin()) / vectors.shape().at(1);
}

}  // namespace

ModelRunner ModelRunner::trusted(std::unique_ptr<runtime::VirtualMachine> vm,
                                 const std::map<std::string, HostTensor>& weights,
                                 bool fragmented) {
  ModelRunner runner;
  if (llm::is_encoder(vm->executable().model)) {
    runner.embedder_ = unwrap(llm::Embedder::create(
        std::move(vm), weights, {.weights_in_place = true, .random_padding = fragmented}));
  } else {
    runner.engine_ = unwrap(llm::Engine::create(
        std::move(vm), weights,
        {.weights_in_place = true, .sample_in_model = true, .fragmented = fragmented}));
  }
  return runner;
}

ModelRunner ModelRunner::under_test(runtime::Session& session,
                                    std::shared_ptr<const Executable> executable,
                                    const std::map<std::string, HostTensor>& weights) {
  ModelRunner runner;
  if (llm::is_encoder(executable->model)) {
    runner.embedder_ = unwrap(llm::Embedder::create(
        unwrap(runtime::LocalVirtualMachine::create(session, std::move(executable))), weights,
        {.random_padding = true}));
  } else {
    runner.engine_ =
        unwrap(llm::Engine::create(session, std::move(executable), weights, {.fragmented = true}));
  }
  return runner;
}

runtime::VirtualMachine& ModelRunner::vm() const {
  return engine_ ? engine_->vm() : embedder_->vm();
}

void ModelRunner::set_watcher(const WorkWatcher& watcher) {
  if (engine_) engine_->set_watcher(watcher);
  if (embedder_) embedder_->set_watcher(watcher);
}

std::vector<HostTensor> ModelRunner::outputs(const ForcedRun& run) {
  if (engine_) return forced_logits(*engine_, run);
  return rows_of(unwrap(embedder_->embed(run.texts)));
}

Result<llm::Generation> ModelRunner::generate(const ForcedRun& run,
                                              const llm::GenerateOptions& options) {
  if (engine_) {
    set_inputs(*engine_, run.inputs);
    return engine_->generate(run.prompt, options);
  }
  TAPML_ASSIGN(const HostTensor vectors, embedder_->embed(run.texts));
  llm::Generation none;
  none.reason = llm::StopReason::kEos;
  const int64_t text = not_finite(vectors);
  if (text < 0) return none;
  none.reason = llm::StopReason::kNotFinite;
  if (options.not_finite_ends) return none;
  return fail(user_error("the vector of a text has a number that is not finite",
                         "text " + std::to_string(text), "finite numbers"));
}

Status ModelRunner::run_mixed_batch(const ForcedRun& run) {
  if (embedder_) return embedder_->run_mixed_batch(run.texts);
  return engine_->length() > 0 ? engine_->run_mixed_batch() : Status{};
}

}  // namespace tapml::topdown
