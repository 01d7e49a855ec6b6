// Logits of texts that follow sound against PyTorch's: in the reference evaluator, and compiled.
#include <gtest/gtest.h>

#include "llm/engine.h"
#include "models/interpreted_text.h"
#include "pipeline/compile.h"
#include "support/sessions.h"

namespace tapml {
namespace {

using testing::GoldenModel;
using testing::largest_difference;
using testing::logit_tolerance;
using testing::speech_golden_models;

HostTensor batch_of_one(const HostTensor& tensor) {
  Shape shape = tensor.shape();
  shape.insert(shape.begin(), 1);
  return tensor.reshaped(shape);
}

HostTensor logits_with_speech(const GoldenModel& golden) {
  InterpretedText text(golden, 4);
  text.encode(batch_of_one(golden.reference.at("features")));
  return text.call("logits_all", golden.reference.at("tokens").values<int32_t>());
}

// Ten tokens after each of three texts of different lengths are the same at once and alone.
void check_several_texts(llm::Engine& engine, std::span<const int32_t> tokens,
                         const HostTensor& expected) {
  std::vector<std::vector<int32_t>> prompts;
  for (const size_t count : {3, 11, 7}) {
    prompts.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  }
  const auto together = unwrap(engine.generate_batch(prompts, {.max_tokens = 10}));
  for (size_t i = 0; i < prompts.size(); ++i) {
    SCOPED_TRACE(i);
    const llm::Generation alone =
        unwrap(engine.generate(prompts[i], {.max_tokens = 10, .keep_logits = true}));
    EXPECT_EQ(together[i].tokens, alone.tokens);
    // Those of the prompt are known.
    const int64_t known = std::ssize(prompts[i]) * engine.model().vocabulary;
    double largest = 0;
    for (int64_t at = 0; at < known; ++at) {
      largest = std::max(largest, std::abs(alone.logits.at_f64(at) - expected.at_f64(at)));
    }
    EXPECT_LE(largest, logit_tolerance(expected));
  }
}

class SpeechLogits : public ::testing::TestWithParam<std::string> {
 protected:
  const GoldenModel golden_ = testing::golden_model(GetParam(), "speech");
  const HostTensor& expected_ = golden_.reference.at("logits");
  const HostTensor& features_ = golden_.reference.at("features");
  std::span<const int32_t> tokens_ = golden_.reference.at("tokens").values<int32_t>();
  double tolerance_ = logit_tolerance(expected_);
};

TEST_P(SpeechLogits, AreThoseOfTheReferenceEvaluator) {
  EXPECT_LE(largest_difference(logits_with_speech(golden_), expected_), tolerance_);
}

// At once, then in pieces and ten tokens one by one, then of several texts.
TEST_P(SpeechLogits, AreThoseOfCompiledCode) {
  const auto session = testing::open_session("cpu");
  const auto executable = pipeline::compile(golden_.model.module, target::parse_target("cpu"));
  const auto engine = unwrap(
      llm::Engine::create(*session, executable, golden_.model.weights, {.prefill_chunk = 5}));
  unwrap(engine->set_features(features_));
  EXPECT_LE(largest_difference(unwrap(engine->logits_all(tokens_)), expected_), tolerance_);
  engine->reset();
  const int64_t width = golden_.interface().vocabulary;
  const size_t prompt = tokens_.size() - 10;
  const auto check = [&](const runtime::Tensor& logits) {
    const int64_t row = engine->length() - 1;
    const HostTensor host = unwrap(runtime::download(logits));
    EXPECT_LE(largest_difference(host, expected_, row * width), tolerance_) << "token " << row;
  };
  check(unwrap(engine->prefill(tokens_.first(prompt))));
  for (const int32_t token : tokens_.subspan(prompt)) check(unwrap(engine->decode(token)));
  check_several_texts(*engine, tokens_, expected_);
  // Other features change them.
  unwrap(engine->set_features(HostTensor::zeros(DType::kF32, features_.shape())));
  EXPECT_GT(largest_difference(unwrap(engine->logits_all(tokens_)), expected_), 100 * tolerance_);
}

INSTANTIATE_TEST_SUITE_P(Models, SpeechLogits, ::testing::ValuesIn(speech_golden_models()),
                         [](const auto& info) { return info.param; });

// A switch that the reader ignores, or whose effect the weights hide, would be found here.
TEST(SpeechSwitches, EachChangesTheLogits) {
  struct Switch {
    const char *model, *field;
    Json value;
  };
  const Switch all[] = {
      {"whisper", "activation_function", Json::string("relu")},
      {"whisper", "decoder_attention_heads", Json::integer(3)},
      {"whisper", "decoder_layers", Json::integer(1)},
      {"whisper", "encoder_attention_heads", Json::integer(2)},
      {"whisper", "encoder_layers", Json::integer(2)},
      {"whisper", "tie_word_embeddings", Json::boolean(false)},
      {"whisper_untied", "activation_function", Json::string("silu")},
      {"whisper_untied", "encoder_attention_heads", Json::integer(1)},
      {"whisper_untied", "tie_word_embeddings", Json::boolean(true)},
      {"whisper_one", "decoder_attention_heads", Json::integer(2)},
  };
  for (const Switch& one : all) {
    SCOPED_TRACE(std::string(one.model) + ": " + one.field);
    GoldenModel golden = testing::golden_model(one.model, "speech");
    const HostTensor expected = golden.reference.at("logits");
    const std::string path =
        testing::golden_path(std::string("speech/") + one.model + "/config.json");
    std::vector<std::pair<std::string, Json>> members;
    const Json config = unwrap(parse_json(unwrap(read_text_file(path)), path));
    for (const auto& [key, old] : config.members()) {
      if (key != one.field) members.emplace_back(key, old);
    }
    members.emplace_back(one.field, one.value);
    golden.model.config = frontend::parse_config(Json::object(members).dump(), "config.json");
    golden.model.module = models::build_decoder(golden.model.config.model, {});
    testing::add_random_weights(golden);
    EXPECT_GE(largest_difference(logits_with_speech(golden), expected),
              10 * logit_tolerance(expected));
  }
}

}  // namespace
}  // namespace tapml
