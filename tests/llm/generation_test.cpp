// Generation by a compiled model: its results, and when it stops.
#include <gtest/gtest.h>

#include "support/compiled_models.h"

namespace tapml {
namespace {

using testing::CompiledModel;

class Generation : public ::testing::Test {
 protected:
  const CompiledModel& model_ = *testing::compiled_model("cpu", "llama3_gqa");
  std::span<const int32_t> tokens_ = model_.golden.reference.at("tokens").values<int32_t>();
};

TEST_F(Generation, IsDeterministic) {
  auto engine = model_.engine();
  llm::GenerateOptions options{.max_tokens = 12, .eos = {}, .sampler = {}};
  auto plain = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(plain) << plain.error().to_string();
  EXPECT_EQ(plain->reason, llm::StopReason::kMaxTokens);
  ASSERT_EQ(plain->tokens.size(), 12u);
  EXPECT_EQ(plain->decode_steps, 11);
  EXPECT_EQ(engine->length(), 16);

  std::vector<int32_t> seen;
  options.keep_logits = true;
  options.on_token = [&](int32_t token) {
    seen.push_back(token);
    return true;
  };
  auto kept = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(kept) << kept.error().to_string();
  EXPECT_EQ(kept->tokens, plain->tokens);
  EXPECT_EQ(seen, plain->tokens);
  ASSERT_EQ(kept->logits.shape(), (Shape{16, model_.golden.interface().vocabulary}));
  // Each token is the most likely one of the previous row.
  auto values = kept->logits.values<float>();
  const auto vocabulary = static_cast<size_t>(model_.golden.interface().vocabulary);
  for (size_t i = 0; i < kept->tokens.size(); ++i) {
    auto row = values.subspan((4 + i) * vocabulary, vocabulary);
    EXPECT_EQ(std::max_element(row.begin(), row.end()) - row.begin(), kept->tokens[i]);
  }
}

TEST_F(Generation, Stops) {
  auto engine = model_.engine({.capacity = 8});
  llm::GenerateOptions options{.max_tokens = 100, .eos = {}, .sampler = {}};
  auto full = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(full) << full.error().to_string();
  EXPECT_EQ(full->reason, llm::StopReason::kContextFull);
  ASSERT_EQ(full->tokens.size(), 4u);  // three in the cache and the one after them

  options.max_tokens = 0;
  auto none = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(none) << none.error().to_string();
  EXPECT_TRUE(none->tokens.empty());
  EXPECT_EQ(engine->length(), 5);

  options.max_tokens = 100;
  options.on_token = [](int32_t) { return false; };
  auto stopped = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(stopped) << stopped.error().to_string();
  EXPECT_EQ(stopped->reason, llm::StopReason::kCaller);
  EXPECT_EQ(stopped->tokens.size(), 1u);

  options.on_token = {};
  options.eos = {-1, full->tokens[2]};
  auto ended = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(ended) << ended.error().to_string();
  EXPECT_EQ(ended->reason, llm::StopReason::kEos);
  size_t before = 0;
  while (full->tokens[before] != full->tokens[2]) ++before;
  EXPECT_EQ(ended->tokens.size(), before);
}

TEST_F(Generation, KeptLogitsLeaveOutTheStopToken) {
  auto engine = model_.engine();
  llm::GenerateOptions options{.max_tokens = 12, .eos = {}, .sampler = {}, .keep_logits = true};
  auto plain = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(plain) << plain.error().to_string();
  const int32_t stop = plain->tokens.back();
  const auto first =
      std::find(plain->tokens.begin(), plain->tokens.end(), stop) - plain->tokens.begin();
  options.eos = {stop};
  auto ended = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(ended) << ended.error().to_string();
  ASSERT_EQ(static_cast<int64_t>(ended->tokens.size()), first);
  EXPECT_EQ(ended->logits.shape()[0], 5 + first - 1);
  EXPECT_EQ(testing::largest_difference(ended->logits, plain->logits), 0);
}

TEST_F(Generation, CacheGrowthDoesNotChangeTheText) {
  llm::GenerateOptions options{.max_tokens = 40, .eos = {}, .sampler = {}, .keep_logits = true};
  auto large = model_.engine()->generate(tokens_.first(5), options);
  ASSERT_TRUE(large) << large.error().to_string();
  auto engine = model_.engine({.first_capacity = 1});
  for (int run = 0; run < 2; ++run) {
    auto grown = engine->generate(tokens_.first(5), options);
    ASSERT_TRUE(grown) << grown.error().to_string();
    EXPECT_EQ(grown->tokens, large->tokens);
    EXPECT_EQ(testing::largest_difference(grown->logits, large->logits), 0);
  }
}

TEST_F(Generation, ExtendsTheSequence) {
  auto engine = model_.engine({.prefill_chunk = 3});
  llm::GenerateOptions options{.max_tokens = 12, .eos = {}, .sampler = {}};
  auto whole = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(whole) << whole.error().to_string();
  options.max_tokens = 4;
  auto begin = engine->generate(tokens_.first(5), options);
  ASSERT_TRUE(begin) << begin.error().to_string();
  ASSERT_EQ(engine->length(), 8);  // the last token has not run
  options.max_tokens = 8;
  auto rest = engine->extend(std::span(begin->tokens).last(1), options);
  ASSERT_TRUE(rest) << rest.error().to_string();
  std::vector<int32_t> joined = begin->tokens;
  joined.insert(joined.end(), rest->tokens.begin(), rest->tokens.end());
  EXPECT_EQ(joined, whole->tokens);

  // Truncates into the middle of a piece of the prompt, and continues.
  for (const int64_t length : {7, 4, 2}) {
    engine->rewind(length);
    EXPECT_EQ(engine->length(), length);
    std::vector<int32_t> again(tokens_.begin(), tokens_.begin() + 5);
    again.insert(again.end(), whole->tokens.begin(), whole->tokens.end());
    auto found = engine->extend(std::span(again).subspan(static_cast<size_t>(length), 10),
                                {.max_tokens = 2, .eos = {}, .sampler = {}});
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(engine->length(), length + 11);
    if (length != 2) continue;
    EXPECT_EQ(found->tokens[0], whole->tokens[7]);
    EXPECT_EQ(found->tokens[1], whole->tokens[8]);
  }
  engine->rewind(100);
  EXPECT_EQ(engine->length(), 13);
  engine->rewind(-1);
  EXPECT_EQ(engine->length(), 0);
  options.max_tokens = 12;
  auto again = engine->extend(tokens_.first(5), options);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(again->tokens, whole->tokens);
}

}  // namespace
}  // namespace tapml
