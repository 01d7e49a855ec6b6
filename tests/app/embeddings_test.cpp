// The option --embeddings: they take the place of tokens in every command that runs a model.
#include "app/embeddings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "app/commands/carve.h"
#include "app/commands/evaluate.h"
#include "app/commands/localize.h"
#include "app/commands/migrate.h"
#include "app/commands/profile.h"
#include "ir/exceptions.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"
#include "support/toy_package.h"

namespace tapml::app {
namespace {

using testing::ToyDecoder;

class EmbeddingFiles : public ::testing::Test {
 protected:
  static const ToyDecoder& toy() {
    static const ToyDecoder model = testing::toy_decoder(21, 0, true);
    return model;
  }
  static std::shared_ptr<const LoadedModel> loaded() {
    frontend::HuggingFaceModel files;
    files.module = toy().module;
    files.weights = toy().weights;
    return std::make_shared<const LoadedModel>(
        LoadedModel{std::move(files), tokenizer::make_tokenizer(tokenizer::sample_json())});
  }
  void SetUp() override { testing::write_tensor(file_, "patches", placed_.rows); }
  PlatformChoice platform() { return {target_, session_.get(), {}, {}}; }
  ModelOptions options() const {
    ModelOptions options;
    options.model = "toy";
    options.inputs.embeddings.files = {at_};
    options.cache.off = true;
    options.loaded = loaded();
    options.session = session_.get();
    options.opened = target_;
    return options;
  }

  // A byte of a prompt is a token.
  const std::string text_ = "\x03\x01\x04\x01\x05";
  const std::vector<int32_t> tokens_ = {3, 1, 4, 1, 5};
  const testing::TempFolder folder_;
  const std::string file_ = folder_ / "image.safetensors", at_ = file_ + "@1";
  const llm::PlacedEmbeddings placed_ = testing::toy_embeddings(22, {1, 2, 3});
  const target::Target target_ = target::parse_target("cpu");
  const std::unique_ptr<runtime::Session> session_ = testing::open_session("cpu");
};

TEST_F(EmbeddingFiles, ArePlacedOneAfterTheOther) {
  const auto positions = [&](const EmbeddingOptions& options) {
    return options.load(toy().module).positions;
  };
  using Positions = std::vector<int64_t>;
  EXPECT_EQ(positions({}), Positions());
  EXPECT_EQ(positions({{file_}, {}}), (Positions{0, 1, 2}));
  EXPECT_EQ(positions({{at_, file_}, {}}), (Positions{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(positions({{file_ + "@20", at_}, {}}), (Positions{20, 21, 22, 1, 2, 3}));
  const HostTensor batch = placed_.rows.reshaped({1, 3, ToyDecoder::kHidden});
  const llm::PlacedEmbeddings both = EmbeddingOptions{{at_}, {{batch, 10}}}.load(toy().module);
  EXPECT_EQ(both.positions, (Positions{1, 2, 3, 10, 11, 12}));
  EXPECT_EQ(both.rows.shape(), (Shape{6, ToyDecoder::kHidden}));
  const auto half = both.rows.bytes().size() / 2;
  EXPECT_TRUE(std::ranges::equal(both.rows.bytes().first(half), placed_.rows.bytes()));
  EXPECT_TRUE(std::ranges::equal(both.rows.bytes().last(half), placed_.rows.bytes()));
  // The name of a file or a folder may have an @.
  std::filesystem::create_directory(folder_ / "a@2");
  for (const std::string name : {"a@2/image.safetensors", "image@2x.safetensors"}) {
    testing::write_tensor(folder_ / name, "patches", placed_.rows);
    EXPECT_EQ(positions({{folder_ / name}, {}}), (Positions{0, 1, 2}));
    EXPECT_EQ(positions({{folder_ / name + "@4"}, {}}), (Positions{4, 5, 6}));
  }
}

TEST_F(EmbeddingFiles, ThatDoNotFitAreRefused) {
  const auto refused = [&](const EmbeddingOptions& options, const std::vector<std::string>& parts) {
    testing::expect_user_error([&] { options.load(toy().module); }, parts);
  };
  const auto tensor = [](DType dtype, Shape shape, int64_t position = 0) {
    return EmbeddingOptions{{}, {{HostTensor::zeros(dtype, std::move(shape)), position}}};
  };
  refused(tensor(DType::kF32, {2, 11}), {"embeddings do not fit the model", "--embeddings",
                                         "f32[m, 12], or f32[1, m, 12]", "f32[2, 11]"});
  refused(tensor(DType::kF16, {2, 12}), {"f16[2, 12]", "convert them to f32"});
  refused(tensor(DType::kF32, {12}), {"f32[12]"});
  refused(tensor(DType::kF32, {2, 3, 12}), {"f32[2, 3, 12]"});
  refused(tensor(DType::kF32, {0, 12}), {"f32[0, 12]"});
  const char* outside = "outside the model's context";
  refused(tensor(DType::kF32, {2, 12}, -1), {outside, "from 0 to 95", "2 rows from position -1"});
  refused(tensor(DType::kF32, {2, 12}, 95), {outside, "2 rows from position 95"});
  refused({{file_ + "@9223372036854775807"}, {}}, {outside});
  refused({{file_ + "@99999999999999999999"}, {}}, {"no valid position"});
  for (const char* wrong : {"@", "@x", "@-1", "@1,2"}) {
    refused({{file_ + wrong}, {}}, {"no valid position", "FILE@POSITION", wrong});
  }
  refused({{"@3"}, {}}, {"no valid position"});
  refused({{at_, file_ + "@3"}, {}},
          {"same position", "@3", "3 rows from position 3 on; position 3 has another"});
  refused({{folder_ / "absent.npy@1"}, {}}, {"absent.npy"});
  testing::expect_user_error(
      [&] { EmbeddingOptions{{at_}, {}}.load(testing::toy_recurrent_model(1).module); },
      {"takes no embeddings", "toy_recurrent", "leave --embeddings out"});
  EXPECT_EQ(EmbeddingOptions().load(testing::toy_recurrent_model(1).module).rows.size(), 0);
}

TEST_F(EmbeddingFiles, GoToEveryEngine) {
  const std::vector<int32_t> expected = toy().greedy(tokens_, 6, placed_);
  EXPECT_NE(expected, toy().greedy(tokens_, 6)) << "the embeddings make no difference";
  llm::GenerateOptions generate;
  generate.max_tokens = 6;
  const auto engine = make_engine(make_ready(options(), {}));
  EXPECT_EQ(unwrap(engine->generate(tokens_, generate)).tokens, expected);
  ModelOptions from_package;
  from_package.model = testing::write_toy_package(folder_.path(), toy().module, toy().weights);
  from_package.inputs.embeddings.files = {at_};
  const ReadyModel ready = make_ready(from_package, {});
  EXPECT_EQ(unwrap(make_engine(ready)->generate(tokens_, generate)).tokens, expected);
  from_package.inputs.features.file = file_;
  testing::expect_user_error([&] { make_ready(from_package, {}); }, {"reads no features"});
}

TEST_F(EmbeddingFiles, AreCarvedProfiledAndEvaluated) {
  CarveCommand carve;
  carve.model = options();
  carve.prompts = {text_, "\x07\x08\x09\x0a"};
  carve.batch = 2;
  const Carved carved = app::carve(carve);
  EXPECT_TRUE(std::ranges::any_of(carved.suite.calls, [](const topdown::SuiteCall& call) {
    return call.function == "prefill";
  }));
  carve.prompts = {text_, "\x07\x08\x09"};
  testing::expect_user_error([&] { app::carve(carve); },
                             {"ends before an embedding's position", "--embeddings", "from 0 to 2",
                              "position 3", "a token for each embedding"});
  EXPECT_FALSE(profile({options(), text_, 2}, {}).kernels.empty());
  testing::expect_user_error([&] { profile({options(), "\x07", 2}, {}); }, {"position 1"});

  EvaluateCommand evaluate;
  evaluate.model = options();
  evaluate.targets = {platform()};
  evaluate.tasks = "tasks.jsonl";
  const auto task = [](const std::string& prompt) {
    return R"({"kind": "exact_match", "prompt": ")" + prompt + R"(", "answer": "\u0001\u0004"})";
  };
  evaluate.tasks_text = task(R"(\u0003\u0001\u0004\u0001\u0005)");
  const double nats = app::evaluate(evaluate).evaluations.at(0).total.mean_nll();
  std::vector<int32_t> all = tokens_;
  all.push_back(1);
  const std::vector<std::vector<double>> logits = toy().logits(all, placed_);
  double expected = 0;
  const std::vector<int32_t> next = {1, 4};
  for (size_t i = 0; i < next.size(); ++i) {
    const std::vector<double>& row = logits[tokens_.size() - 1 + i];
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit);
    expected += (std::log(sum) - row[static_cast<size_t>(next[i])]) / 2;
  }
  EXPECT_NEAR(nats, expected, 1e-4);
  evaluate.tasks_text = task(R"(\u0003\u0001\u0004)");
  testing::expect_user_error([&] { app::evaluate(evaluate); },
                             {"not before its scored tokens", "tasks.jsonl:1", "position 3"});
}

TEST_F(EmbeddingFiles, AreMigratedAndLocalized) {
  const ModelChoice choice = {"toy", {}, {}, {{}, {{at_}, {}}}, loaded()};
  MigrateCommand migrate;
  migrate.model = choice;
  migrate.source = platform();
  migrate.targets = {platform()};
  migrate.prompt = text_;
  migrate.max_tokens = 4;
  migrate.validation_tokens = 2;
  migrate.cache.off = true;
  migrate.isolation.in_process = true;
  migrate.facts = false;
  const Migrated migrated = app::migrate(migrate);
  const topdown::Migration& migration = migrated.migrations.targets.at(0);
  EXPECT_TRUE(migration.passed());
  EXPECT_TRUE(migration.untested.empty());
  EXPECT_EQ(migration.target_tokens, toy().greedy(tokens_, 4, placed_));
  EXPECT_NE(migrated.texts.command.find("--embeddings '" + at_ + "'"), std::string::npos)
      << migrated.texts.command;

  LocalizeCommand localize;
  localize.model = choice;
  localize.source = localize.target = platform();
  localize.prompt = text_;
  localize.max_tokens = 2;
  localize.cache.off = true;
  localize.isolation.in_process = true;
  localize.facts = false;
  const Localized localized = app::localize(localize);
  EXPECT_FALSE(localized.localization.found());
  EXPECT_NE(localized.command.find("--embeddings"), std::string::npos) << localized.command;
  EXPECT_FALSE(bisect_passes(localize).bisection.found());

  localize.prompt = migrate.prompt = "\x03\x01";
  for (const auto& run : std::vector<std::function<void()>>{[&] { app::migrate(migrate); },
                                                            [&] { app::localize(localize); },
                                                            [&] { bisect_passes(localize); }}) {
    testing::expect_user_error(run, {"ends before an embedding's position", "position 2"});
  }
}

}  // namespace
}  // namespace tapml::app
