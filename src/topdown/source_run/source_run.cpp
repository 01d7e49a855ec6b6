#include "topdown/source_run/source_run.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "ir/exceptions.h"
#include "pipeline/kernel_cache.h"
#include "text/printer.h"
#include "topdown/reference_run/allowed.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/runner/sandbox.h"
#include "topdown/suite/carve.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/suite_hash.h"

namespace tapml::topdown {

SourceRun::SourceRun(const Module& module, const std::map<std::string, HostTensor>& weights,
                     const std::vector<int32_t>& prompt, const Platform& source,
                     const SourceRunOptions& options)
    : module_(module), weights_(weights), platform_(source), options_(options) {
  forced_.prompt = prompt;
  forced_.cancelled = options_.cancelled;
  forced_.inputs = options_.inputs;
  forced_.texts = options_.texts;
  begin("compile for " + platform_.target.text);
  fixed_ = pipeline::form_kernels(module_, implement_options().instruments);
}

pipeline::ImplementOptions SourceRun::implement_options() const {
  pipeline::ImplementOptions implement;
  implement.instruments.poll = [this] { check_cancelled(); };
  implement.instruments.watcher = options_.watcher;
  implement.libraries = options_.libraries;
  implement.cache = options_.cache;
  implement.module_per_kernel = true;
  return implement;
}

void SourceRun::start() {
  executable_ = pipeline::implement(fixed_, platform_.target, implement_options());
  model_ = ModelRunner::trusted(unwrap(runtime::open_instrumented(*platform_.session, executable_)),
                                weights_);
  model_->vm().set_interrupt(options_.interrupt);
  model_->set_watcher(options_.watcher);
}

void SourceRun::run_freely(int64_t tokens) {
  begin("run on " + platform_.target.text);
  llm::Generation own = generate(*model_, tokens);
  finite_ = own.reason != llm::StopReason::kNotFinite;
  tokens_ = std::move(own.tokens);
  forced_.forced = tokens_;
  if (std::ssize(tokens_) > options_.validation_tokens) {
    forced_.forced.resize(static_cast<size_t>(options_.validation_tokens));
  }
}

void SourceRun::expect_finite() {
  if (!finite_ && !nan_) fail_not_finite(*model_);
}

Suite SourceRun::carve(const std::set<std::string>& only) {
  begin("carve");
  if (model_->engine()) reset_engine(*model_->engine(), options_.inputs);
  CarveOptions options;
  options.kernels = only;
  options.held = &weights_;
  options.fragmented = &weights_;
  Carver carver(*executable_, options);
  unwrap(model_->vm().set_capture(carver.plan(), &carver));
  // The prompt gives one token, and every decode step one more.
  auto generated = guard([&] { return generate(*model_, options_.validation_tokens + 1).tokens; });
  unwrap(model_->vm().set_capture({}, nullptr));
  std::vector<int32_t> tokens = unwrap(std::move(generated));
  const size_t common = std::min(tokens.size(), tokens_.size());
  if (!std::equal(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(common),
                  tokens_.begin())) {
    throw_internal("the observed run produced other tokens than the plain run");
  }
  if (only.empty()) {
    nan_ = carver.nan();
    forced_.forced = std::move(tokens);
    if (std::ssize(forced_.forced) > options_.validation_tokens) forced_.forced.pop_back();
  }
  if (!carver.nan()) {
    unwrap(carve_added(model_->vm(), carver, [this] { return model_->run_mixed_batch(forced_); }));
  }
  Suite suite = carver.take();
  // Runs before this one do not count.
  const int64_t first = suite.calls.empty() ? 0 : suite.calls[0].sequence;
  for (SuiteCall& call : suite.calls) call.sequence -= first;
  if (!nan_) {
    Sandbox sandbox({platform_.target, platform_.session}, options_.cancelled);
    sandbox.load(executable_);
    add_choice_cases(suite, sandbox, [this] { check_cancelled(); });
  }
  return suite;
}

void SourceRun::take_suite(Suite suite) {
  suite_ = std::move(suite);
  reference_.emplace(suite_);
  reference_->set_poll([this] { check_cancelled(); });
  reference_->set_watcher(options_.watcher);
  reference_->set_tolerances(options_.tolerances);
}

void SourceRun::evaluate_model() {
  begin("evaluate the reference of the whole model");
  model_reference_.emplace(reference_logits(forced_), model_->outputs(forced_));
  model_reference_->set_emulation(
      [this](const op::ProductRounding& products) {
        if (options_.progress) {
          options_.progress("evaluate the whole model in lower precision", 0, 0);
        }
        return evaluate_reference(forced_, products);
      },
      module_);
}

void SourceRun::run() {
  start();
  run_freely(options_.max_tokens);
  Suite suite = carve();
  expect_finite();
  if (nan_) {
    suite_ = std::move(suite);
  } else {
    take_suite(std::move(suite));
    evaluate_model();
  }
  timeline_.end();
}

void SourceRun::begin(const std::string& step) {
  timeline_.begin("steps", step);
  if (options_.progress) options_.progress(step, 0, 0);
}

llm::GenerateOptions SourceRun::generate_options(int64_t tokens) const {
  llm::GenerateOptions generate;
  generate.max_tokens = tokens;
  generate.eos = options_.eos;
  generate.sampler = options_.sampler;
  generate.on_token = [this](int32_t) { return !options_.cancelled || !options_.cancelled(); };
  return generate;
}

llm::Generation SourceRun::generate(ModelRunner& model, int64_t tokens) const {
  llm::GenerateOptions options = generate_options(tokens);
  options.not_finite_ends = true;
  llm::Generation result = unwrap(model.generate(forced_, options));
  check_cancelled();
  return result;
}

void SourceRun::fail_not_finite(ModelRunner& model) const {
  unwrap(model.generate(forced_, generate_options(options_.max_tokens)));
}

std::vector<KernelUse> SourceRun::called(const DeviceInfo& target) const {
  const auto functions_on = [&](const DeviceInfo& device) {
    return generation_functions(*executable_, options_.sampler.temperature, device,
                                !options_.inputs.images.empty());
  };
  std::vector<std::string> functions = functions_on(platform_.session->info());
  const std::vector<std::string> target_functions = functions_on(target);
  functions.insert(functions.end(), target_functions.begin(), target_functions.end());
  return called_kernels(*executable_, functions);
}

std::vector<KernelUse> SourceRun::untested(const DeviceInfo& target) const {
  return untested_kernels(called(target), suite_);
}

double SourceRun::margin_at(size_t at, const std::vector<int32_t>& tokens) {
  auto parting = partings_.find(at);
  if (parting == partings_.end()) {
    ForcedRun run;
    run.prompt = forced_.prompt;
    run.inputs = forced_.inputs;
    run.prompt.insert(run.prompt.end(), tokens_.begin(),
                      tokens_.begin() + static_cast<std::ptrdiff_t>(at));
    const ModelReference reference(reference_logits(run), {});
    parting = partings_.emplace(at, reference).first;
    keep_reference();
  }
  const ModelReference& reference = parting->second;
  if (at < tokens.size()) return reference.margin(tokens[at]);
  double least = std::numeric_limits<double>::infinity();
  for (int32_t token : options_.eos) least = std::min(least, reference.margin(token));
  return least;
}

void SourceRun::set_states(const std::vector<std::string>& folders) {
  if (folders.empty()) return;
  // Another build may evaluate differently.
  std::string program = pipeline::compiler_identity() + "\n" + text::print(module_);
  if (const std::string inputs = options_.inputs.digest(); !inputs.empty()) {
    program += "\n" + inputs;
  }
  store_.emplace(weights_digest() + to_hex(sha256(program)), folders);
}

void SourceRun::keep_reference() {
  if (store_) store_->flush();
}

ReferenceLogits SourceRun::reference_logits(const ForcedRun& run) {
  const std::vector<int32_t> tokens = run.tokens();
  const size_t first = run.prompt.empty() ? 0 : run.prompt.size() - 1;
  if (store_) {
    if (auto known = store_->find(tokens, first)) {
      known->vectors = !run.texts.empty();
      return std::move(*known);
    }
  }
  ReferenceLogits logits = evaluate_reference(run, {});
  if (store_) store_->keep(tokens, first, logits);
  return logits;
}

ReferenceLogits SourceRun::evaluate_reference(const ForcedRun& run,
                                              const op::ProductRounding& products) const {
  interp::CallOptions evaluate;
  evaluate.poll = [this] { check_cancelled(); };
  evaluate.watcher = options_.watcher;
  evaluate.products = products;
  return ReferenceLogits::of(module_, model_->model(), weights_, run, evaluate);
}

const std::string& SourceRun::weights_digest() {
  if (weights_digest_.empty()) weights_digest_ = weights_hash(weights_);
  return weights_digest_;
}

const std::string& SourceRun::suite_digest() {
  if (suite_digest_.empty()) suite_digest_ = suite_hash(suite_);
  return suite_digest_;
}

void SourceRun::expect_alive() const {
  unwrap(platform_.session->synchronize(runtime::kDefaultStream));
}

void SourceRun::check_cancelled() const {
  if (options_.cancelled && options_.cancelled()) {
    throw_platform(PlatformFault::kCancelled, "interrupted");
  }
}

}  // namespace tapml::topdown
