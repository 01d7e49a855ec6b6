// Logits without a valid token: the error names the kernel and the layer where they became
// non-finite.
#include "llm/non_finite.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

class NonFinite : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model(GetParam(), "llama3_gqa");
    if (!model_) GTEST_SKIP() << GetParam() << " is absent";
    tokens_ = model_->golden.reference.at("tokens").values<int32_t>();
  }

  // An engine whose weight `name` has `value` at element `at`.
  std::unique_ptr<llm::Engine> engine_with(const std::string& name, int64_t at, double value,
                                           const llm::EngineOptions& options = {}) {
    auto weights = model_->golden.model.weights;
    const HostTensor& right = weights.at(name);
    HostTensor wrong = HostTensor::zeros(right.dtype(), right.shape());
    std::ranges::copy(right.bytes(), wrong.mutable_bytes().begin());
    wrong.set_f64(at, value);
    weights.at(name) = wrong;
    return unwrap(llm::Engine::create(*model_->session, model_->executable, weights, options));
  }
  int64_t hidden() const {
    return model_->golden.model.weights.at("model.norm.weight").shape().back();
  }
  std::vector<int32_t> prompt(size_t count = 5) const {
    const auto part = tokens_.first(count);
    return {part.begin(), part.end()};
  }

  bool in_prompt(int32_t token) const {
    const std::vector<int32_t> tokens = prompt();
    return std::ranges::find(tokens, token) != tokens.end();
  }
  int32_t token_outside_of_prompt() const {
    int32_t token = 0;
    while (in_prompt(token)) ++token;
    return token;
  }

  const testing::CompiledModel* model_ = nullptr;
  std::span<const int32_t> tokens_;
};

// For every way to choose the token.
TEST_P(NonFinite, NamesKernelAndLayer) {
  const std::string norm = "model.norm.weight", down = "model.layers.1.mlp.down_proj.weight";
  for (const std::string& weight : {norm, down}) {
    auto engine = engine_with(weight, 3, NAN);
    const std::string layer = weight.substr(0, weight.rfind('.'));
    for (const double temperature : {0.0, 0.7}) {
      for (const bool keep_logits : {false, true}) {
        llm::GenerateOptions options{.max_tokens = 4, .eos = {}, .sampler = {}};
        options.sampler.temperature = temperature;
        options.keep_logits = keep_logits;
        auto generation = engine->generate(prompt(), options);
        ASSERT_FALSE(generation);
        EXPECT_EQ(generation.error().kind, ErrorKind::kUser);
        testing::expect_parts(generation.error(),
                              {"not numbers", layer, "first kernel whose output is not finite",
                               "NaN in", "weight " + weight, "is broken"});
      }
    }
    llm::GenerateOptions ends{.max_tokens = 4, .eos = {}, .sampler = {}, .not_finite_ends = true};
    const llm::Generation ended = unwrap(engine->generate(prompt(), ends));
    EXPECT_EQ(ended.reason, llm::StopReason::kNotFinite);
    EXPECT_TRUE(ended.tokens.empty());
  }
}

TEST_P(NonFinite, InfinityIsReported) {
  // The largest numbers of the head's dtype, for any signs of the operands.
  for (const double value : {3e38, -3e38}) {
    auto engine = engine_with("lm_head.weight", 7 * hidden(), value);
    llm::GenerateOptions options{.max_tokens = 4, .eos = {}, .sampler = {}};
    auto generation = engine->generate(prompt(), options);
    if (generation) continue;  // -infinity, an excluded token
    testing::expect_parts(generation.error(), {"not finite", "lm_head", "+infinity in 1 of"});
  }
}

// Logits that stay on the device are checked as well: one logit of many, at either end.
TEST_P(NonFinite, AnyLogitCounts) {
  auto engine = model_->engine();
  const int64_t vocabulary = engine->model().vocabulary;
  for (const double temperature : {0.0, 1.0}) {
    ASSERT_TRUE(engine->set_sampler({.temperature = temperature}));
    for (const float bad : {std::nanf(""), -std::nanf(""), kInf}) {
      for (const int64_t at : {int64_t{0}, vocabulary / 2, vocabulary - 1}) {
        HostTensor logits = HostTensor::zeros(DType::kF32, {1, vocabulary});
        for (int64_t i = 0; i < vocabulary; ++i)
          logits.set_f64(i, std::sin(static_cast<double>(i)));
        logits.mutable_values<float>()[static_cast<size_t>(at)] = bad;
        const auto token = engine->sample(unwrap(runtime::upload(*model_->session, logits)));
        ASSERT_FALSE(token) << "logit " << at << " of " << bad;
        testing::expect_parts(token.error(), {"logit " + std::to_string(at)});
      }
    }
    HostTensor masked = HostTensor::zeros(DType::kF32, {1, vocabulary});
    std::ranges::fill(masked.mutable_values<float>(), -kInf);
    EXPECT_FALSE(engine->sample(unwrap(runtime::upload(*model_->session, masked))));
    masked.set_f64(5, -1e30);
    EXPECT_EQ(unwrap(engine->sample(unwrap(runtime::upload(*model_->session, masked)))), 5);
  }
}

TEST_P(NonFinite, OfABatchNamesTheText) {
  // Only the second prompt has the token whose embedding is broken.
  const int32_t broken = token_outside_of_prompt();
  auto engine = engine_with("model.embed_tokens.weight", broken * hidden() + 1, NAN);
  std::vector<std::vector<int32_t>> prompts(3, prompt());
  prompts[1][2] = broken;
  llm::GenerateOptions options{.max_tokens = 3, .eos = {}, .sampler = {}};
  for (const double temperature : {0.0, 0.7}) {
    options.sampler.temperature = temperature;
    options.not_finite_ends = false;
    const auto all = engine->generate_batch(prompts, options);
    ASSERT_FALSE(all);
    testing::expect_parts(all.error(), {"prompt 2", "model.embed_tokens",
                                        "weight model.embed_tokens.weight is broken"});
    options.not_finite_ends = true;
    const auto ended = engine->generate_batch(prompts, options);
    ASSERT_TRUE(ended) << ended.error().to_string();
    EXPECT_EQ((*ended)[1].reason, llm::StopReason::kNotFinite);
    EXPECT_EQ((*ended)[0].tokens.size(), 3u) << "the others continue";
  }
}

// The last piece of a prompt reads NaN from the cache: the whole prompt is traced to find its
// origin.
TEST_P(NonFinite, IsFollowedThroughTheCache) {
  const int32_t broken = token_outside_of_prompt();
  auto engine =
      engine_with("model.embed_tokens.weight", broken * hidden() + 1, NAN, {.prefill_chunk = 2});
  std::vector<int32_t> tokens = prompt();
  tokens[0] = broken;
  llm::GenerateOptions options{.max_tokens = 3, .eos = {}, .sampler = {}};
  for (const bool keep_logits : {false, true}) {
    options.keep_logits = keep_logits;
    const auto generation = engine->generate(tokens, options);
    ASSERT_FALSE(generation);
    testing::expect_parts(generation.error(), {"model.embed_tokens", "is broken"});
    EXPECT_EQ(generation.error().to_string().find("from the cache"), std::string::npos);
  }
}

// A later step: the token that the model chose is the broken one. The watcher stays attached.
TEST_P(NonFinite, ALaterStepIsNamed) {
  llm::GenerateOptions options{.max_tokens = 6, .eos = {}, .sampler = {}};
  const std::vector<int32_t> right = unwrap(model_->engine()->generate(prompt(), options)).tokens;
  size_t at = 0;
  while (in_prompt(right[at])) ++at;
  ASSERT_LT(at, 5u);
  auto engine = engine_with("model.embed_tokens.weight", right[at] * hidden(), NAN);
  std::vector<int32_t> seen;
  options.on_token = [&](int32_t token) {
    seen.push_back(token);
    return true;
  };
  const int64_t calls = engine->local_vm().call_point().calls();
  const auto generation = engine->generate(prompt(), options);
  ASSERT_FALSE(generation);
  EXPECT_GT(engine->local_vm().call_point().calls(), calls);
  EXPECT_EQ(engine->local_vm().call_point().observer(), nullptr);
  testing::expect_parts(generation.error(),
                        {"decode of token " + std::to_string(prompt().size() + at),
                         "model.embed_tokens", "in decode"});
  EXPECT_EQ(seen,
            std::vector<int32_t>(right.begin(), right.begin() + static_cast<ptrdiff_t>(at) + 1));
  // The engine accepts another text.
  options.on_token = {};
  options.max_tokens = static_cast<int64_t>(at) + 1;
  EXPECT_EQ(unwrap(engine->generate(prompt(), options)).tokens, seen);
}

INSTANTIATE_TEST_SUITE_P(Platforms, NonFinite, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST(NonFiniteCount, TellsNaNFromInfinityInEveryFloat) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    HostTensor tensor = HostTensor::zeros(dtype, {7});
    tensor.set_f64(0, NAN);
    tensor.set_f64(1, kInf);
    tensor.set_f64(2, -kInf);
    tensor.set_f64(3, -kInf);
    tensor.set_f64(4, -1);
    const llm::NonFiniteCount count = llm::count_non_finite(tensor);
    EXPECT_EQ(count.nan, 1) << dtype_name(dtype);
    EXPECT_EQ(count.above, 1) << dtype_name(dtype);
    EXPECT_EQ(count.below, 2) << dtype_name(dtype);
    EXPECT_EQ(count.text(), "NaN in 1 of 7 elements, +infinity in 1, -infinity in 2");
  }
  EXPECT_FALSE(llm::count_non_finite(HostTensor::zeros(DType::kI32, {3})).any());
}

}  // namespace
}  // namespace tapml
