// Compiled models on every platform of this machine against PyTorch.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>

#include "support/compiled_models.h"

namespace tapml {
namespace {

using testing::CompiledModel;
using testing::largest_difference;
using testing::logit_tolerance;

struct ModelCase {
  std::string platform;
  std::string model;
};

void PrintTo(const ModelCase& test, std::ostream* out) {
  *out << test.platform << " " << test.model;
}

std::string case_name(const ::testing::TestParamInfo<ModelCase>& info) {
  return info.param.platform + "_" + info.param.model;
}

class ModelGolden : public ::testing::TestWithParam<ModelCase> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model(GetParam().platform, GetParam().model);
    if (!model_) GTEST_SKIP() << GetParam().platform << " is unavailable";
  }
  const std::map<std::string, HostTensor>& reference() const { return model_->golden.reference; }
  std::span<const int32_t> tokens(const std::string& name = "tokens") const {
    return reference().at(name).values<int32_t>();
  }

  const CompiledModel* model_ = nullptr;
};

TEST_P(ModelGolden, LogitsOfAllTokens) {
  auto engine = model_->engine();
  const HostTensor& expected = reference().at("logits");
  auto logits = engine->logits_all(tokens());
  ASSERT_TRUE(logits) << logits.error().to_string();
  ASSERT_EQ(logits->shape(), expected.shape());
  EXPECT_LE(largest_difference(*logits, expected), logit_tolerance(expected));
}

TEST_P(ModelGolden, LogitsOfPrefillInPiecesAndDecode) {
  const HostTensor& expected = reference().at("logits");
  const int64_t vocabulary = model_->golden.interface().vocabulary;
  auto engine = model_->engine({.prefill_chunk = 7});
  const size_t prompt = 18;
  auto check = [&](const Result<runtime::Tensor>& logits) {
    ASSERT_TRUE(logits) << logits.error().to_string();
    auto host = runtime::download(*logits);
    ASSERT_TRUE(host) << host.error().to_string();
    const int64_t row = engine->length() - 1;
    EXPECT_LE(largest_difference(*host, expected, row * vocabulary), logit_tolerance(expected))
        << "token " << row;
  };
  check(engine->prefill(tokens().first(prompt)));
  for (int32_t token : tokens().subspan(prompt)) check(engine->decode(token));
  EXPECT_EQ(engine->length(), static_cast<int64_t>(tokens().size()));
}

INSTANTIATE_TEST_SUITE_P(
    Platforms, ModelGolden,
    ::testing::Values(ModelCase{"cpu", "llama3_gqa"}, ModelCase{"cpu", "mqa_tied"},
                      ModelCase{"cpu", "biased"}, ModelCase{"cpu", "wide_heads"},
                      ModelCase{"cpu", "one_layer"}, ModelCase{"cpu", "qwen2_moe"},
                      ModelCase{"cpu", "qwen2_moe_normed"}, ModelCase{"cpu", "qwen2_moe_plain"},
                      ModelCase{"cpu", "demo"}, ModelCase{"opencl", "llama3_gqa"},
                      ModelCase{"opencl", "mqa_tied"}, ModelCase{"opencl", "biased"},
                      ModelCase{"opencl", "wide_heads"}, ModelCase{"opencl", "one_layer"},
                      ModelCase{"opencl", "qwen2_moe"}, ModelCase{"opencl", "qwen2_moe_normed"},
                      ModelCase{"opencl", "demo"}),
    case_name);

// One configuration of each family of blocks, in turns on two platforms; all configurations on all
// platforms are for `make test-models`, which sets TAPML_TEST_ALL_MODELS.
std::vector<ModelCase> other_cases() {
  const std::vector<std::string> platforms = {"cpu", "opencl", "vulkan"};
  std::vector<ModelCase> cases;
  if (std::getenv("TAPML_TEST_ALL_MODELS")) {
    for (const std::string& name : testing::other_golden_models()) {
      for (const std::string& platform : platforms) cases.push_back({platform, name});
    }
    return cases;
  }
  for (const char* name : {"gemma2", "gpt2", "mixtral_window", "stablelm_parallel", "cohere",
                           "phi3_window", "qwen3_window", "rwkv5", "rwkv6", "lfm2_biased",
                           "qwen3_next", "apertus", "gemma3n", "deepseek_v3", "gpt_oss", "rwkv7"}) {
    cases.push_back({platforms[cases.size() % 2], name});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OtherModels, ModelGolden, ::testing::ValuesIn(other_cases()), case_name);

// A text that grows above the trained length is read again with the rotation of long texts, as
// transformers does it; one that is cut below it, with that of short ones.
TEST(LongRope, TextsThatGrowAndShrink) {
  const CompiledModel* model = testing::compiled_model("cpu", "phi3_longrope_long");
  const int64_t border = model->golden.interface().short_text;
  ASSERT_EQ(border, 10);
  const auto tokens = model->golden.reference.at("tokens").values<int32_t>();
  const HostTensor& expected = model->golden.reference.at("logits");
  const int64_t vocabulary = model->golden.interface().vocabulary;
  auto engine = model->engine({.prefill_chunk = 4});
  unwrap(engine->prefill(tokens.first(8)));
  for (const int32_t token : tokens.subspan(8)) {
    const HostTensor logits = unwrap(runtime::download(unwrap(engine->decode(token))));
    const int64_t row = engine->length() - 1;
    if (row < border) continue;
    EXPECT_LE(largest_difference(logits, expected, row * vocabulary), logit_tolerance(expected))
        << "token " << row;
  }
  engine->rewind(border - 1);
  const HostTensor again = unwrap(runtime::download(unwrap(engine->decode(tokens[9]))));
  EXPECT_EQ(engine->length(), border);
  engine->reset();
  const HostTensor alone = unwrap(runtime::download(unwrap(engine->prefill(tokens.first(10)))));
  EXPECT_LE(largest_difference(again, alone), 1e-4);
  EXPECT_GT(largest_difference(alone, expected, 9 * vocabulary), 10 * logit_tolerance(expected));
  // A batch whose texts cross the border in different steps.
  std::vector<std::vector<int32_t>> prompts;
  for (const size_t count : {8, 9, 12}) {
    prompts.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  }
  llm::GenerateOptions options;
  options.max_tokens = 6;
  const auto together = unwrap(engine->generate_batch(prompts, options));
  for (size_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(together[i].tokens, unwrap(engine->generate(prompts[i], options)).tokens) << i;
  }
}

// Texts of a batch have rows of their own in recurrent state, a row is empty for the text that uses
// it next, and a scan over pieces of a prompt goes on where the last one ended.
TEST(RecurrentGolden, BatchesAndPiecesAreLikeTextsAlone) {
  for (const char* name : {"rwkv5", "rwkv6", "rwkv7", "lfm2_biased", "qwen3_next"}) {
    SCOPED_TRACE(name);
    const CompiledModel* model = testing::compiled_model("cpu", name);
    const auto tokens = model->golden.reference.at("tokens").values<int32_t>();
    std::vector<std::vector<int32_t>> prompts;
    for (const auto& [first, count] : {std::pair{0, 9}, {4, 9}, {2, 1}, {11, 13}}) {
      const auto part = tokens.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
      prompts.emplace_back(part.begin(), part.end());
    }
    const llm::GenerateOptions options{.max_tokens = 12, .eos = {}, .sampler = {}};
    const auto together = model->engine()->generate_batch(prompts, options);
    ASSERT_TRUE(together) << together.error().to_string();
    const auto again = model->engine({.prefill_chunk = 4});
    for (size_t i = 0; i < prompts.size(); ++i) {
      // One engine for all, whose rows earlier texts have used.
      const auto alone = again->generate(prompts[i], options);
      ASSERT_TRUE(alone) << alone.error().to_string();
      EXPECT_EQ((*together)[i].tokens, alone->tokens) << "prompt " << i;
    }
    EXPECT_NE((*together)[0].tokens, (*together)[1].tokens);
  }
}

// The demo model's 200 most likely tokens after each prompt. If two logits are closer than twice
// the error measured on the same platform, either is right and the texts may diverge.
class GreedyGolden : public ModelGolden {};

TEST_P(GreedyGolden, TokensEqualOrTied) {
  auto engine = model_->engine();
  auto logits = engine->logits_all(tokens());
  ASSERT_TRUE(logits) << logits.error().to_string();
  const double error = largest_difference(*logits, reference().at("logits"));
  ASSERT_LE(error, logit_tolerance(reference().at("logits")));
  llm::GenerateOptions options{.max_tokens = 200, .eos = {}, .sampler = {}};
  for (const char* suffix : {"", ".1", ".2", ".3"}) {
    const std::string end = suffix;
    auto generation = engine->generate(tokens("prompt" + end), options);
    ASSERT_TRUE(generation) << generation.error().to_string();
    auto expected = tokens("greedy" + end);
    ASSERT_EQ(generation->tokens.size(), expected.size());
    auto [actual_end, expected_end] =
        std::mismatch(generation->tokens.begin(), generation->tokens.end(), expected.begin());
    if (expected_end == expected.end()) continue;
    const auto at = expected_end - expected.begin();
    const double margin = reference().at("margins" + end).at_f64(at);
    EXPECT_LE(margin, 2 * error) << "prompt" << end << " parts at token " << at;
    std::printf("prompt%s: a tie at token %d, margin %g, logit error %g\n", suffix,
                static_cast<int>(at), margin, error);
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, GreedyGolden,
                         ::testing::Values(ModelCase{"cpu", "demo"}, ModelCase{"opencl", "demo"}),
                         case_name);

}  // namespace
}  // namespace tapml
