// Embeddings that take the place of tokens in a prompt.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <set>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"

namespace tapml::llm {
namespace {

using testing::ToyDecoder;
using Tokens = std::vector<int32_t>;

const Tokens kPrompt = {3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8};
// The last token of the prompt is among them.
const std::vector<int64_t> kPositions = {10, 1, 2, 3};

TEST(PlacedEmbeddings, PlaceRowsByPosition) {
  const PlacedEmbeddings placed{HostTensor(), kPositions};
  EXPECT_EQ(placed.placement(0, 5), (Tokens{-1, 1, 2, 3, -1}));
  EXPECT_EQ(placed.placement(3, 5), (Tokens{3, -1, -1, -1, -1}));
  EXPECT_EQ(placed.placement(8, 3), (Tokens{-1, -1, 0}));
}

TEST(PlacedEmbeddings, TheDigestTellsInputsApart) {
  EXPECT_EQ(TextInputs().digest(), "");
  const std::vector<TextInputs> all = {{testing::toy_features(1), {}},
                                       {testing::toy_features(2), {}},
                                       {{}, testing::toy_embeddings(1, {1, 2})},
                                       {{}, testing::toy_embeddings(1, {2, 1})},
                                       {{}, testing::toy_embeddings(2, {1, 2})}};
  std::set<std::string> digests;
  for (const TextInputs& one : all) digests.insert(one.digest());
  EXPECT_EQ(digests.size(), all.size());
}

class Embeddings : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    session_ = testing::open_session(GetParam());
    ASSERT_TRUE(session_) << GetParam() << " is unavailable";
  }
  static std::shared_ptr<const Executable> compiled(const Module& module) {
    return pipeline::compile(module, target::parse_target(GetParam()));
  }
  static void expect_logits(const HostTensor& found, const std::vector<std::vector<double>>& rows,
                            size_t first = 0) {
    const auto width = static_cast<size_t>(ToyDecoder::kVocabulary);
    const auto values = found.values<float>();
    ASSERT_EQ(values.size(), (rows.size() - first) * width);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(values[i], rows[first + i / width][i % width], 5e-4) << i;
    }
  }

  std::unique_ptr<runtime::Session> session_;
};

// In one piece and in several, alone and with other texts, again after a rewind.
TEST_P(Embeddings, TakeThePlaceOfTokens) {
  const ToyDecoder model = testing::toy_decoder(1, 0, true);
  const PlacedEmbeddings placed = testing::toy_embeddings(2, kPositions);
  const auto expected = model.logits(kPrompt, placed);
  GenerateOptions options;
  options.max_tokens = 6;
  const Tokens text = model.greedy(kPrompt, 6, placed);
  const auto executable = compiled(model.module);
  EXPECT_NE(text, model.greedy(kPrompt, 6)) << "the embeddings make no difference";
  for (const int64_t chunk : {1, 3, 512}) {
    auto engine =
        unwrap(Engine::create(*session_, executable, model.weights, {.prefill_chunk = chunk}));
    EXPECT_TRUE(engine->takes_embeddings());
    expect_logits(unwrap(engine->logits_all(kPrompt)), model.logits(kPrompt));
    unwrap(engine->set_embeddings(placed));
    expect_logits(unwrap(engine->logits_all(kPrompt)), expected);
    engine->rewind(2);
    expect_logits(unwrap(engine->logits_all(std::span(kPrompt).subspan(2))), expected, 2);
    EXPECT_EQ(unwrap(engine->generate(kPrompt, options)).tokens, text);
    Tokens other = kPrompt;
    other[1] = 36;  // under an embedding
    other[0] = 7;
    const std::vector<Tokens> prompts = {kPrompt, other, Tokens(13, 12)};
    const auto together = unwrap(engine->generate_batch(prompts, options));
    for (size_t i = 0; i < prompts.size(); ++i) {
      EXPECT_EQ(together[i].tokens, model.greedy(prompts[i], 6, placed)) << i;
    }
    unwrap(engine->set_embeddings({}));
    EXPECT_EQ(unwrap(engine->generate(kPrompt, options)).tokens, model.greedy(kPrompt, 6));
  }
}

// Tokens that left a window are read again with their embeddings.
TEST_P(Embeddings, AreReadAgainAfterTheyLeftTheWindow) {
  const ToyDecoder model = testing::toy_decoder(3, 6, true);
  const PlacedEmbeddings placed = testing::toy_embeddings(4, kPositions);
  auto engine =
      unwrap(Engine::create(*session_, compiled(model.module), model.weights, {.capacity = 12}));
  unwrap(engine->set_embeddings(placed));
  Tokens text = kPrompt;
  for (int32_t i = 0; i < 20; ++i) text.push_back((7 * i) % 37);
  expect_logits(unwrap(engine->logits_all(text)), model.logits(text, placed));
  engine->rewind(9);
  text.resize(9);
  const Tokens more = {2, 30, 4};
  text.insert(text.end(), more.begin(), more.end());
  expect_logits(unwrap(engine->logits_all(more)), model.logits(text, placed), 9);
}

// Embeddings that follow one another are read at once, for which this cache is too small.
TEST_P(Embeddings, ThatFollowOneAnotherNeedRoom) {
  const ToyDecoder model = testing::toy_decoder(3, 6, true);
  auto engine = unwrap(Engine::create(*session_, compiled(model.module), model.weights,
                                      {.capacity = 12, .prefill_chunk = 5}));
  std::vector<int64_t> positions(12);
  std::iota(positions.begin(), positions.end(), 2);
  const Tokens text(20, 1);
  unwrap(engine->set_embeddings(testing::toy_embeddings(4, positions)));
  const auto whole = engine->logits_all(text);
  ASSERT_FALSE(whole);
  testing::expect_parts(whole.error(), {"follow one another do not fit", "room for 10 tokens"});
  positions.resize(10);
  const PlacedEmbeddings placed = testing::toy_embeddings(4, positions);
  unwrap(engine->set_embeddings(placed));
  expect_logits(unwrap(engine->logits_all(text)), model.logits(text, placed));
}

// A text goes on after an answer with embeddings of its own.
TEST_P(Embeddings, AreAddedToATextThatHasBegun) {
  const ToyDecoder model = testing::toy_decoder(7, 0, true);
  auto engine = unwrap(Engine::create(*session_, compiled(model.module), model.weights));
  PlacedEmbeddings all = testing::toy_embeddings(8, {1, 2});
  unwrap(engine->place_embeddings(all.rows, 1));
  GenerateOptions options;
  options.max_tokens = 3;
  Tokens text = kPrompt;
  Tokens answer = unwrap(engine->generate(text, options)).tokens;
  EXPECT_EQ(answer, model.greedy(text, 3, all));
  text.insert(text.end(), answer.begin(), answer.end());
  // The last token is not in the cache.
  ASSERT_EQ(engine->length(), std::ssize(text) - 1);
  const HostTensor more = testing::toy_embeddings(9, {0, 1}).rows;
  const Status passed = engine->place_embeddings(more, engine->length() - 1);
  ASSERT_FALSE(passed);
  testing::expect_parts(passed.error(), {"not in the rest of the text", "positions from 13 to 95",
                                         "2 from position 12 on"});
  EXPECT_FALSE(engine->place_embeddings(more, ToyDecoder::kContext - 1));
  EXPECT_FALSE(engine->place_embeddings(more, std::numeric_limits<int64_t>::max()));
  unwrap(engine->place_embeddings(more, 15));
  all.place(more, 15);
  EXPECT_FALSE(engine->place_embeddings(more, 16)) << "position 16 has an embedding";
  const Tokens turn = {answer.back(), 4, 20, 21};
  text.insert(text.end(), turn.begin() + 1, turn.end());
  answer = unwrap(engine->extend(turn, options)).tokens;
  EXPECT_EQ(answer, model.greedy(text, 3, all));
  EXPECT_NE(answer, model.greedy(text, 3, testing::toy_embeddings(8, {1, 2})));
}

TEST_P(Embeddings, ThatDoNotFitAreRefused) {
  const ToyDecoder model = testing::toy_decoder(5, 0, true);
  auto engine = unwrap(Engine::create(*session_, compiled(model.module), model.weights));
  const auto refused = [&](const PlacedEmbeddings& placed, const std::vector<std::string>& parts) {
    const Status status = engine->set_embeddings(placed);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kUser);
    testing::expect_parts(status.error(), parts);
  };
  refused({HostTensor::zeros(DType::kF32, {2, 11}), {0, 1}},
          {"do not fit", "f32[m, 12]", "f32[2, 11]"});
  refused({HostTensor::zeros(DType::kF16, {2, 12}), {0, 1}}, {"f16[2, 12]"});
  refused({HostTensor(), {0}}, {"do not fit"});
  const HostTensor rows = HostTensor::zeros(DType::kF32, {2, 12});
  refused({rows, {0}}, {"another number of positions", "2 positions, one for each row"});
  refused({rows, {5, 5}}, {"two embeddings have the same position", "two rows for position 5"});
  refused({rows, {-1, 0}}, {"is in no text", "from 0 to 95", "position -1"});
  refused({rows, {0, ToyDecoder::kContext}}, {"is in no text", "position 96"});
  // decode places none.
  unwrap(engine->set_embeddings(testing::toy_embeddings(1, {0, 4})));
  unwrap(engine->prefill(Tokens{1, 2, 3}));
  unwrap(engine->decode(4));
  const auto decoded = engine->decode(5);
  ASSERT_FALSE(decoded);
  testing::expect_parts(decoded.error(), {"ends before an embedding's position", "position 4"});
  for (const int64_t batch : {0, 1}) {
    const auto run = [&](std::vector<Tokens> prompts, const GenerateOptions& options) -> Status {
      if (batch) {
        TAPML_ASSIGN([[maybe_unused]] auto texts, engine->generate_batch(prompts, options));
      } else {
        TAPML_ASSIGN([[maybe_unused]] auto text, engine->generate(prompts[0], options));
      }
      return {};
    };
    const Status generated = run({{1, 2, 3, 4}}, {.max_tokens = 1});
    ASSERT_FALSE(generated);
    testing::expect_parts(generated.error(), {"ends before an embedding's position", "from 0 to 3",
                                              "position 4", "a token for each embedding"});
    EXPECT_TRUE(run({{1, 2, 3, 4}}, {.max_tokens = 0})) << "the rest may follow";
    EXPECT_TRUE(run({{1, 2, 3, 4, 5}}, {.max_tokens = 1}));
  }

  const testing::ToyModel other = testing::toy_recurrent_model(1);
  engine = unwrap(Engine::create(*session_, compiled(other.module), other.weights));
  EXPECT_FALSE(engine->takes_embeddings());
  refused(testing::toy_embeddings(1, {0}), {"takes no embeddings", "toy_recurrent"});
}

TEST_P(Embeddings, GoWithAPlacementInPrefillAndLogitsAll) {
  const ToyDecoder model = testing::toy_decoder(6, 0, true);
  const auto executable = compiled(model.module);
  const auto refused = [&](size_t function, const std::vector<std::string>& parts) {
    auto changed = std::make_shared<Executable>(*executable);
    std::erase(changed->model.functions[function].inputs, Role::kPlacement);
    const auto engine = Engine::create(*session_, changed, model.weights);
    ASSERT_FALSE(engine);
    testing::expect_parts(engine.error(), parts);
  };
  ASSERT_EQ(executable->model.functions[0].name, "prefill");
  ASSERT_EQ(executable->model.functions[2].name, "logits_all");
  refused(0, {"go together"});
  refused(2, {"go together"});
  auto changed = std::make_shared<Executable>(*executable);
  changed->model.functions[1].inputs.push_back(Role::kPlacement);
  const auto engine = Engine::create(*session_, changed, model.weights);
  ASSERT_FALSE(engine);
  testing::expect_parts(engine.error(), {"decode", "unsupported inputs"});
}

INSTANTIATE_TEST_SUITE_P(Platforms, Embeddings, ::testing::Values("cpu", "opencl"));

}  // namespace
}  // namespace tapml::llm
