// The option --features: what an encoder reads goes through every command that runs a model.
#include "app/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "app/commands/carve.h"
#include "app/commands/evaluate.h"
#include "app/commands/localize.h"
#include "app/commands/migrate.h"
#include "app/commands/profile.h"
#include "ir/exceptions.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "support/toy_models.h"
#include "support/toy_package.h"

namespace tapml::app {
namespace {

using testing::ToyModel;

// A byte of a prompt is a token.
const std::string kText = "\x03\x01\x04\x01\x05";
const std::vector<int32_t> kTokens = {3, 1, 4, 1, 5};

const ToyModel& toy() {
  static const ToyModel model = testing::toy_encoder_decoder(5);
  return model;
}

std::shared_ptr<const LoadedModel> loaded(const ToyModel& model) {
  frontend::HuggingFaceModel files;
  files.module = model.module;
  files.weights = model.weights;
  return std::make_shared<const LoadedModel>(
      LoadedModel{std::move(files), tokenizer::make_tokenizer(tokenizer::sample_json())});
}

class Features : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_tensor(file_, "frames", features_); }
  PlatformChoice platform() { return {target_, session_.get(), {}, {}}; }
  ModelChoice choice() const { return {"toy", {}, {}, {{file_, {}}, {}}, loaded(toy())}; }
  ModelOptions options() const {
    ModelOptions options;
    options.model = "toy";
    options.inputs.features.file = file_;
    options.cache.off = true;
    options.loaded = loaded(toy());
    options.session = session_.get();
    options.opened = target_;
    return options;
  }

  const testing::TempFolder folder_;
  const std::string file_ = folder_ / "features.safetensors";
  const HostTensor features_ = testing::toy_features(11);
  const target::Target target_ = target::parse_target("cpu");
  const std::unique_ptr<runtime::Session> session_ = testing::open_session("cpu");
};

TEST_F(Features, AreReadForOneSequence) {
  const Module& module = toy().module;
  const HostTensor read = FeatureOptions{file_, {}}.load(module);
  EXPECT_EQ(read.shape(), (Shape{ToyModel::kRows, ToyModel::kFeatures}));
  EXPECT_TRUE(std::ranges::equal(read.bytes(), features_.bytes()));
  const HostTensor batch = features_.reshaped({1, ToyModel::kRows, ToyModel::kFeatures});
  EXPECT_EQ(FeatureOptions({}, batch).load(module).shape(), features_.shape());
  EXPECT_EQ(FeatureOptions().load(testing::toy_recurrent_model(1).module).size(), 0);
}

TEST_F(Features, ThatDoNotFitAreRefused) {
  const auto refused = [](const Module& module, const FeatureOptions& features,
                          const std::vector<std::string>& parts) {
    testing::expect_user_error([&] { features.load(module); }, parts);
  };
  const Module& module = toy().module;
  refused(module, {}, {"has an encoder, which needs features", "--features FILE"});
  refused(testing::toy_recurrent_model(1).module, {file_, {}},
          {"reads no features", "toy_recurrent", "leave --features out"});
  refused(module, {"", HostTensor::zeros(DType::kF32, {5, 8})},
          {"do not fit", "f32[5, 7], or f32[1, 5, 7]", "f32[5, 8]", "as the model expects"});
  refused(module, {"", HostTensor::zeros(DType::kF32, {2, 5, 7})}, {"f32[2, 5, 7]"});
  refused(module, {"", HostTensor::zeros(DType::kF64, {5, 7})},
          {"f64[5, 7]", "convert them to f32"});
  refused(module, {folder_ / "absent.npy", {}}, {"absent.npy"});
  std::ofstream(folder_ / "wrong.safetensors", std::ios::binary) << "not a file of tensors";
  refused(module, {folder_ / "wrong.safetensors", {}}, {"wrong.safetensors"});
}

TEST_F(Features, GoToEveryEngine) {
  const std::vector<int32_t> expected = toy().greedy(kTokens, 6, features_);
  llm::GenerateOptions generate;
  generate.max_tokens = 6;
  const auto engine = make_engine(make_ready(options(), {}));
  EXPECT_EQ(unwrap(engine->generate(kTokens, generate)).tokens, expected);

  // From a package, whose text of the module has the encoder's annotation.
  ModelOptions from_package;
  from_package.model = testing::write_toy_package(folder_.path(), toy().module, toy().weights);
  from_package.inputs.features.file = file_;
  const ReadyModel ready = make_ready(from_package, {});
  EXPECT_EQ(unwrap(make_engine(ready)->generate(kTokens, generate)).tokens, expected);
  from_package.inputs.features.tensor = HostTensor::zeros(DType::kF32, {4, 7});
  testing::expect_user_error([&] { make_ready(from_package, {}); }, {"f32[4, 7]"});
  from_package.inputs = {};
  testing::expect_user_error([&] { make_ready(from_package, {}); }, {"--features FILE"});
}

TEST_F(Features, AreCarvedProfiledAndEvaluated) {
  CarveCommand carve;
  carve.model = options();
  carve.prompts = {kText, "\x07"};
  carve.batch = 2;
  const Carved carved = app::carve(carve);
  int64_t encoders = 0;
  for (const topdown::SuiteCall& call : carved.suite.calls) {
    if (call.function == "encode") encoders += call.times;
  }
  EXPECT_GE(encoders, 2 * 2) << "a product and an update of the state for each text";

  const topdown::Profiled profiled = profile({options(), kText, 2}, {});
  EXPECT_TRUE(std::ranges::any_of(profiled.kernels, [](const topdown::KernelProfile& kernel) {
    return std::ranges::find(kernel.functions, "encode") != kernel.functions.end();
  }));

  EvaluateCommand evaluate;
  evaluate.model = options();
  evaluate.targets = {platform()};
  evaluate.tasks_text = R"({"kind": "perplexity", "id": "one", "text": "\u0003\u0001\u0004"})";
  const auto nats = [&] { return app::evaluate(evaluate).evaluations.at(0).total.mean_nll(); };
  const std::vector<std::vector<double>> logits = toy().logits({3, 1}, features_);
  double expected = 0;
  const std::vector<int32_t> next = {1, 4};
  for (size_t i = 0; i < next.size(); ++i) {
    double sum = 0;
    for (const double logit : logits[i]) sum += std::exp(logit);
    expected += (std::log(sum) - logits[i][static_cast<size_t>(next[i])]) / 2;
  }
  EXPECT_NEAR(nats(), expected, 1e-4);
  evaluate.model.inputs.features = {"", testing::toy_features(12)};
  EXPECT_GT(std::abs(nats() - expected), 1e-3) << "the features make no difference";
}

TEST_F(Features, AreMigratedAndLocalized) {
  MigrateCommand migrate;
  migrate.model = choice();
  migrate.source = platform();
  migrate.targets = {platform()};
  migrate.prompt = kText;
  migrate.max_tokens = 4;
  migrate.validation_tokens = 2;
  migrate.cache.off = true;
  migrate.isolation.in_process = true;
  migrate.facts = false;
  const Migrated migrated = app::migrate(migrate);
  const topdown::Migration& migration = migrated.migrations.targets.at(0);
  EXPECT_TRUE(migration.passed());
  EXPECT_TRUE(migration.untested.empty());
  EXPECT_EQ(migration.target_tokens, toy().greedy(kTokens, 4, features_));
  EXPECT_NE(migrated.texts.command.find("--features '" + file_ + "'"), std::string::npos)
      << migrated.texts.command;

  LocalizeCommand localize;
  localize.model = choice();
  localize.source = localize.target = platform();
  localize.prompt = kText;
  localize.max_tokens = 2;
  localize.cache.off = true;
  localize.isolation.in_process = true;
  localize.facts = false;
  const Localized localized = app::localize(localize);
  EXPECT_FALSE(localized.localization.found());
  EXPECT_TRUE(localized.localization.untested.empty());
  EXPECT_NE(localized.command.find("--features"), std::string::npos) << localized.command;
  EXPECT_FALSE(bisect_passes(localize).bisection.found());

  migrate.model.inputs = {};
  testing::expect_user_error([&] { app::migrate(migrate); }, {"--features FILE"});
}

}  // namespace
}  // namespace tapml::app
