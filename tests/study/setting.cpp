#include "study/setting.h"

#include "app/platforms.h"
#include "models/quantization.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"
#include "support/golden_models.h"
#include "topdown/suite/carve.h"

namespace tapml::study {

namespace {

constexpr int64_t kForced = 4;  // decode steps of each run
constexpr int kPromptTokens = 9;
constexpr std::chrono::seconds kKernelTimeout{10};

frontend::HuggingFaceModel load(const Options& options) {
  if (options.model != "demo") return testing::golden_model(options.model).model;
  const models::QuantizationRef quantization =
      options.quantize.empty() ? nullptr : models::Quantization::parse(options.quantize);
  return frontend::read_model(std::string(TAPML_SOURCE_DIR) + "/models/demo", quantization);
}

// A kernel process as `tapml localize` starts it.
std::unique_ptr<runtime::Session> open_worker(const std::string& program,
                                              const std::string& target) {
  auto channel = unwrap(rpc::start_program({program, "kernel-worker"}, "the kernel under test"));
  rpc::ConnectOptions connect;
  connect.target = target;
  return unwrap(rpc::RemoteSession::connect(std::move(channel), connect));
}

topdown::Platform worker_platform(const Options& options, const std::string& text) {
  topdown::Platform platform;
  platform.target = target::parse_target(text);
  platform.open = [program = options.program, text] { return open_worker(program, text); };
  platform.kernel_timeout = kKernelTimeout;
  return platform;
}

}  // namespace

Setting::Setting(const Options& options)
    : options_(options),
      cache_({}),
      model_(load(options)),
      source_target_(target::parse_target("cpu")),
      source_session_(app::open_session(source_target_)),
      source_(worker_platform(options, "cpu")),
      target_(worker_platform(options, options.target)) {
  source_.target = source_target_;
  source_.session = source_session_.get();
  target::adopt_device(target_.target, target_.open()->info());
  pipeline::ImplementOptions implement;
  implement.cache = cache();
  fixed_ = pipeline::form_kernels(model_.module);
  executable_ = pipeline::implement(fixed_, source_target_, implement);
  engine_ = unwrap(llm::Engine::create(*source_session_, executable_, model_.weights));
  run_.prompt = prompt(options.seed);
  suite_ = carve();
  reference_.emplace(suite_);
}

RandomStream Setting::random(const std::string& purpose) const {
  return {options_.seed,
          options_.model + " " + options_.quantize + " " + options_.target + " " + purpose};
}

std::vector<int32_t> Setting::prompt(uint64_t seed) const {
  RandomStream random(seed, "prompt");
  std::vector<int32_t> tokens;
  const int64_t vocabulary = unwrap(model_interface_of(model_.module.all_attrs())).vocabulary;
  for (int i = 0; i < kPromptTokens; ++i) {
    tokens.push_back(static_cast<int32_t>(random.between(3, vocabulary - 1)));
  }
  return tokens;
}

topdown::Suite Setting::carve() {
  topdown::Carver carver(*executable_);
  engine_->local_vm().call_point().set_observer(&carver);
  llm::GenerateOptions generate;
  generate.max_tokens = kForced;
  run_.forced = unwrap(engine_->generate(run_.prompt, generate)).tokens;
  engine_->local_vm().call_point().set_observer(nullptr);
  return carver.take();
}

std::shared_ptr<const Executable> Setting::target_executable(const Rewrite& rewrite) {
  pipeline::ImplementOptions implement;
  implement.cache = cache();
  implement.module_per_kernel = true;
  implement.rewrite = rewrite;
  return pipeline::implement(fixed_, target_.target, implement);
}

std::vector<HostTensor> Setting::target_logits(
    topdown::Sandbox& sandbox, const std::shared_ptr<const Executable>& executable) const {
  auto engine = unwrap(llm::Engine::create(sandbox.session(), executable, model_.weights));
  return topdown::forced_logits(*engine, run_);
}

topdown::LocalizeOptions Setting::localize_options() {
  topdown::LocalizeOptions options;
  options.suite = suite_;
  options.cache = cache();
  options.repeats = 2;
  options.shrink_time = std::chrono::milliseconds(0);
  return options;
}

topdown::Localization Setting::localize(const topdown::Platform& target,
                                        const topdown::LocalizeOptions& options) const {
  return topdown::localize(model_.module, model_.weights, run_.prompt, source_, target, options);
}

topdown::Migration Setting::migrate(const std::vector<int32_t>& prompt) {
  topdown::MigrateOptions options;
  options.max_tokens = kForced;
  options.validation_tokens = kForced;
  options.cache = cache();
  return topdown::migrate(model_.module, model_.weights, prompt, source_,
                          topdown::MigrationTarget{target_}, options);
}

}  // namespace tapml::study
