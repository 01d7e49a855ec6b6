// Several texts at once: each is the same as alone.
#include <gtest/gtest.h>

#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::CompiledModel;

class Batch : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model(GetParam(), "llama3_gqa");
    if (!model_) GTEST_SKIP() << GetParam() << " is absent";
    tokens_ = model_->golden.reference.at("tokens").values<int32_t>();
  }
  std::vector<int32_t> prompt(size_t first, size_t count) const {
    const auto part = tokens_.subspan(first, count);
    return {part.begin(), part.end()};
  }
  const CompiledModel* model_ = nullptr;
  std::span<const int32_t> tokens_;
};

TEST_P(Batch, TextsAreTheSameAsAlone) {
  // Two of equal length, which share a prefill; the cache grows during the run.
  const std::vector<std::vector<int32_t>> prompts = {prompt(0, 5), prompt(2, 3), prompt(4, 5),
                                                     prompt(1, 9)};
  auto engine = model_->engine({.first_capacity = 4, .prefill_chunk = 4});
  llm::GenerateOptions options{.max_tokens = 8, .eos = {}, .sampler = {}};
  for (const double temperature : {0.0, 0.8}) {
    options.sampler = {.temperature = temperature, .top_p = 0.9, .seed = 7};
    const auto together = engine->generate_batch(prompts, options);
    ASSERT_TRUE(together) << together.error().to_string();
    EXPECT_EQ(engine->length(), 0);
    ASSERT_EQ(together->size(), prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i) {
      llm::GenerateOptions own = options;
      own.sampler.seed += i;
      const auto alone = engine->generate(prompts[i], own);
      ASSERT_TRUE(alone) << alone.error().to_string();
      EXPECT_EQ((*together)[i].tokens, alone->tokens) << "text " << i;
      EXPECT_EQ((*together)[i].decode_steps, 7);
      EXPECT_EQ((*together)[i].reason, llm::StopReason::kMaxTokens);
    }
  }
}

TEST_P(Batch, EachEndsIndependently) {
  auto engine = model_->engine({.capacity = 8});
  const std::vector<std::vector<int32_t>> prompts = {prompt(0, 3), prompt(0, 7)};
  llm::GenerateOptions options{.max_tokens = 4, .eos = {}, .sampler = {}};
  const auto both = engine->generate_batch(prompts, options);
  ASSERT_TRUE(both) << both.error().to_string();
  EXPECT_EQ((*both)[0].reason, llm::StopReason::kMaxTokens);
  EXPECT_EQ((*both)[0].tokens.size(), 4u);
  EXPECT_EQ((*both)[1].reason, llm::StopReason::kContextFull);
  EXPECT_EQ((*both)[1].tokens.size(), 2u);

  options.eos = {(*both)[1].tokens[0]};
  const auto ended = engine->generate_batch(prompts, options);
  ASSERT_TRUE(ended) << ended.error().to_string();
  EXPECT_EQ((*ended)[1].reason, llm::StopReason::kEos);
  EXPECT_TRUE((*ended)[1].tokens.empty());

  options.eos = {};
  int64_t seen = 0;
  options.on_token = [&](int32_t) { return ++seen < 2; };
  const auto stopped = engine->generate_batch(prompts, options);
  ASSERT_TRUE(stopped) << stopped.error().to_string();
  EXPECT_EQ((*stopped)[1].reason, llm::StopReason::kCaller);
  EXPECT_EQ((*stopped)[1].tokens.size(), 1u);
  EXPECT_EQ((*stopped)[0].tokens.size(), 2u)
      << "the other text continues until the callback runs again";

  options = {.max_tokens = 0, .eos = {}, .sampler = {}};
  const auto none = engine->generate_batch(prompts, options);
  ASSERT_TRUE(none) << none.error().to_string();
  EXPECT_TRUE((*none)[0].tokens.empty());
}

TEST_P(Batch, BadInputIsRefused) {
  auto engine = model_->engine({.capacity = 8});
  const auto refused = [&](const std::vector<std::vector<int32_t>>& prompts,
                           const llm::GenerateOptions& options,
                           const std::vector<std::string>& says) {
    const auto result = engine->generate_batch(prompts, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
    for (const std::string& part : says) {
      EXPECT_NE(result.error().to_string().find(part), std::string::npos)
          << result.error().to_string();
    }
  };
  refused({}, {}, {"no prompt"});
  refused({prompt(0, 3), {}}, {}, {"prompt 2", "empty"});
  refused({prompt(0, 3), {1, -1}}, {}, {"prompt 2", "vocabulary", "-1"});
  refused({prompt(0, 9)}, {}, {"prompt 1", "at most 8 tokens"});
  refused({prompt(0, 3)}, {.max_tokens = -1}, {"max_tokens"});
  refused({prompt(0, 3)}, {.keep_logits = true}, {"keep_logits"});
}

INSTANTIATE_TEST_SUITE_P(Platforms, Batch, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml
