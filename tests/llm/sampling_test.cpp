// Random sampling by a compiled model: equal on every platform for equal logits.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "support/compiled_models.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

class Sampling : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    model_ = testing::compiled_model(GetParam(), "one_layer");
    if (!model_) GTEST_SKIP() << GetParam() << " is unavailable";
    engine_ = model_->engine();
  }
  int64_t vocabulary() const { return engine_->model().vocabulary; }
  std::span<const int32_t> prompt() const {
    return model_->golden.reference.at("tokens").values<int32_t>().first(6);
  }
  Result<int32_t> sample(const HostTensor& logits) {
    return engine_->sample(unwrap(runtime::upload(*model_->session, logits)));
  }
  llm::Generation generate(const llm::SamplerOptions& sampler) {
    llm::GenerateOptions options{
        .max_tokens = 24, .eos = {}, .sampler = sampler, .keep_logits = true};
    return unwrap(engine_->generate(prompt(), options));
  }

  const testing::CompiledModel* model_ = nullptr;
  std::unique_ptr<llm::Engine> engine_;
};

TEST_P(Sampling, EqualLogitsGiveTheTokensOfTheHost) {
  for (const llm::SamplerOptions& options :
       {llm::SamplerOptions{.temperature = 1, .seed = 1},
        llm::SamplerOptions{.temperature = 0.7, .top_p = 0.8, .top_k = 50, .seed = 2},
        llm::SamplerOptions{}}) {
    ASSERT_TRUE(engine_->set_sampler(options));
    HostTensor state = llm::sampler_state(options);
    for (uint64_t row = 0; row < 100; ++row) {
      HostTensor logits = HostTensor::zeros(DType::kF32, {1, vocabulary()});
      auto values = logits.mutable_values<float>();
      fill_uniform(values, philox_key(77, "logits"), row * values.size());
      for (float& value : values) value = std::nearbyint(value * 40) / 8;
      auto token = sample(logits);
      ASSERT_TRUE(token) << token.error().to_string();
      EXPECT_EQ(*token, unwrap(llm::sample_token(logits.values<float>(), options, state)));
    }
  }
}

TEST_P(Sampling, TextsDependOnTheSeed) {
  const llm::SamplerOptions options{.temperature = 1.2, .top_p = 0.95, .seed = 5};
  llm::Generation first = generate(options);
  ASSERT_EQ(first.tokens.size(), 24u);
  EXPECT_EQ(generate(options).tokens, first.tokens);
  llm::SamplerOptions other = options;
  other.seed = 6;
  EXPECT_NE(generate(other).tokens, first.tokens);
  // Every token is the host's draw from the previous row.
  HostTensor state = llm::sampler_state(options);
  const auto values = first.logits.values<float>();
  const auto width = static_cast<size_t>(vocabulary());
  for (size_t i = 0; i < first.tokens.size(); ++i) {
    const auto row = values.subspan((prompt().size() - 1 + i) * width, width);
    EXPECT_EQ(first.tokens[i], unwrap(llm::sample_token(row, options, state)));
  }
}

TEST_P(Sampling, TopKOfOneIsGreedy) {
  EXPECT_EQ(generate({.temperature = 5, .top_k = 1}).tokens, generate({}).tokens);
  EXPECT_EQ(generate({.temperature = 5, .top_p = 1e-9}).tokens, generate({}).tokens);
}

TEST_P(Sampling, ReportsInvalidLogitsAndOptions) {
  ASSERT_TRUE(engine_->set_sampler({.temperature = 1}));
  HostTensor logits = HostTensor::zeros(DType::kF32, {1, vocabulary()});
  logits.set_f64(7, NAN);
  auto token = sample(logits);
  ASSERT_FALSE(token);
  EXPECT_EQ(token.error().kind, ErrorKind::kUser);
  testing::expect_parts(token.error(), {"not numbers", "logit 7"});
  logits.set_f64(7, 0);
  EXPECT_TRUE(sample(logits));
  llm::GenerateOptions options;
  options.sampler.top_p = 2;
  auto refused = engine_->generate(prompt(), options);
  ASSERT_FALSE(refused);
  testing::expect_parts(refused.error(), {"top-p", "2"});
}

INSTANTIATE_TEST_SUITE_P(Platforms, Sampling, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml
