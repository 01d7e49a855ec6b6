// Models whose state is not a paged cache: the engine follows the roles of the model's interface.
#include <gtest/gtest.h>

#include <functional>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/toy_models.h"

namespace tapml::llm {
namespace {

using testing::ToyModel;
using Tokens = std::vector<int32_t>;

class Roles : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    session_ = testing::open_session(GetParam());
    ASSERT_TRUE(session_) << GetParam() << " is unavailable";
  }
  std::unique_ptr<Engine> engine(const ToyModel& model, const EngineOptions& options = {}) {
    const auto executable = pipeline::compile(model.module, target::parse_target(GetParam()));
    return unwrap(Engine::create(*session_, executable, model.weights, options));
  }
  static void expect_logits(const HostTensor& found, const std::vector<std::vector<double>>& rows,
                            size_t first = 0) {
    const auto width = static_cast<size_t>(ToyModel::kVocabulary);
    ASSERT_EQ(found.values<float>().size(), (rows.size() - first) * width);
    for (size_t i = 0; i < found.values<float>().size(); ++i) {
      ASSERT_NEAR(found.values<float>()[i], rows[first + i / width][i % width], 2e-4) << i;
    }
  }
  std::unique_ptr<runtime::Session> session_;
};

TEST_P(Roles, RecurrentStateContinuesAcrossCalls) {
  const ToyModel model = testing::toy_recurrent_model(1);
  const Tokens text = {3, 1, 4, 1, 5, 9, 2, 6, 5, 35};
  const auto expected = model.logits(text);
  for (const int64_t chunk : {1, 3, 512}) {
    auto engine = this->engine(model, {.prefill_chunk = chunk});
    expect_logits(unwrap(engine->logits_all(text)), expected);
    engine->reset();
    // The slot of the previous text is empty again.
    unwrap(engine->prefill(std::span(text).first(7)));
    expect_logits(unwrap(runtime::download(unwrap(engine->decode(text[7])))),
                  {expected.begin(), expected.begin() + 8}, 7);
    EXPECT_EQ(engine->length(), 8);
  }
}

TEST_P(Roles, TextsAreGeneratedAloneAndTogether) {
  const ToyModel model = testing::toy_recurrent_model(2);
  auto engine = this->engine(model);
  GenerateOptions options;
  options.max_tokens = 9;
  const std::vector<Tokens> prompts = {{1, 2, 3}, {36}, {7, 7, 7}, {0, 30, 2, 5}, {12}};
  std::vector<Tokens> expected;
  for (const Tokens& prompt : prompts) {
    expected.push_back(model.greedy(prompt, 9));
    EXPECT_EQ(unwrap(engine->generate(prompt, options)).tokens, expected.back());
  }
  // More texts than slots; the number of slots grows.
  const auto together = unwrap(engine->generate_batch(prompts, options));
  for (size_t i = 0; i < prompts.size(); ++i) EXPECT_EQ(together[i].tokens, expected[i]) << i;
}

TEST_P(Roles, ARecurrentTextIsShortenedByReadingItAgain) {
  const ToyModel model = testing::toy_recurrent_model(3);
  auto engine = this->engine(model);
  const Tokens text = {3, 1, 4, 1, 5, 9}, other = {3, 1, 4, 8, 8};
  unwrap(engine->prefill(text));
  engine->rewind(3);
  EXPECT_EQ(engine->length(), 3);
  const Tokens rest(other.begin() + 3, other.end());
  expect_logits(unwrap(engine->logits_all(rest)), model.logits(other), 3);
  EXPECT_EQ(engine->length(), 5);
  engine->rewind(4);
  engine->rewind(2);  // before they are read again
  EXPECT_EQ(engine->length(), 2);
  const Tokens last = {3, 1, 20};
  expect_logits(unwrap(engine->logits_all(Tokens{20})), model.logits(last), 2);
}

TEST_P(Roles, AnEncoderReadsFeaturesForEveryText) {
  const ToyModel model = testing::toy_encoder_decoder(4);
  auto engine = this->engine(model);
  EXPECT_TRUE(engine->reads_features());
  GenerateOptions options;
  options.max_tokens = 6;
  const Tokens prompt = {1, 2, 3};
  const auto without = engine->generate(prompt, options);
  ASSERT_FALSE(without);
  testing::expect_parts(without.error(), {"needs features"});
  std::vector<Tokens> texts;
  for (const unsigned seed : {5U, 6U}) {
    const HostTensor features = testing::toy_features(seed);
    unwrap(engine->set_features(features));
    expect_logits(unwrap(engine->logits_all(prompt)), model.logits(prompt, features));
    texts.push_back(model.greedy(prompt, 6, features));
    EXPECT_EQ(unwrap(engine->generate(prompt, options)).tokens, texts.back());
    const std::vector<Tokens> prompts = {{4}, prompt, {9, 9}};
    const auto together = unwrap(engine->generate_batch(prompts, options));
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(together[i].tokens, model.greedy(prompts[i], 6, features)) << i;
    }
  }
  EXPECT_NE(texts[0], texts[1]) << "the features make no difference";
}

TEST_P(Roles, FeaturesAreForEncodersOnly) {
  auto engine = this->engine(testing::toy_recurrent_model(1));
  EXPECT_FALSE(engine->reads_features());
  const Status set = engine->set_features(testing::toy_features(1));
  ASSERT_FALSE(set);
  testing::expect_parts(set.error(), {"reads no features", "toy_recurrent"});
  auto encoder = this->engine(testing::toy_encoder_decoder(1));
  for (const HostTensor& wrong :
       {HostTensor(), HostTensor::zeros(DType::kF32, {5, 8}),
        HostTensor::zeros(DType::kF32, {1, 5, 7}), HostTensor::zeros(DType::kF16, {5, 7})}) {
    const Status set = encoder->set_features(wrong);
    ASSERT_FALSE(set);
    testing::expect_parts(set.error(), {"do not fit the model's encoder", "f32[5, 7]"});
  }
}

// Inputs that a text cannot supply, and results that a function does not return.
TEST_P(Roles, RefusesUnsupportedInterfaces) {
  const ToyModel model = testing::toy_recurrent_model(1);
  const auto executable = pipeline::compile(model.module, target::parse_target(GetParam()));
  const auto refused = [&](const std::function<void(ModelInterface&)>& change,
                           const std::vector<std::string>& parts) {
    auto changed = std::make_shared<Executable>(*executable);
    change(changed->model);
    const auto engine = Engine::create(*session_, changed, model.weights);
    ASSERT_FALSE(engine);
    testing::expect_parts(engine.error(), parts);
  };
  refused([](ModelInterface& m) { m.functions[1].inputs[1] = Role::kGenerator; },
          {"decode", "inputs", "decode(tokens, generator, recurrent, weights)"});
  refused([](ModelInterface& m) { m.functions[0].outputs = {}; }, {"prefill", "outputs"});
  refused([](ModelInterface& m) { m.functions.erase(m.functions.begin()); },
          {"lacks a function", "prefill"});
  refused([](ModelInterface& m) { m.state[0].shape = {int64_t{1} << 40, int64_t{1} << 40}; },
          {"not a language model", "incomplete"});
  refused([](ModelInterface& m) { m.state[0].shape = {-1}; }, {"incomplete"});
}

INSTANTIATE_TEST_SUITE_P(Platforms, Roles, ::testing::Values("cpu", "opencl"));

}  // namespace
}  // namespace tapml::llm
