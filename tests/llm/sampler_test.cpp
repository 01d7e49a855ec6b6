#include "llm/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "io/host/files.h"
#include "io/json_reader.h"
#include "ir/exceptions.h"
#include "support/expect_error.h"
#include "support/golden_path.h"

namespace tapml::llm {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

int32_t draw(const std::vector<float>& logits, const SamplerOptions& options, HostTensor& state) {
  auto token = sample_token(logits, options, state);
  EXPECT_TRUE(token) << (token ? "" : token.error().to_string());
  return token ? *token : -1;
}

// How often each token occurs in `count` draws from the same logits.
std::map<int32_t, int> histogram(const std::vector<float>& logits, const SamplerOptions& options,
                                 int count) {
  HostTensor state = sampler_state(options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < count; ++i) ++counts[draw(logits, options, state)];
  EXPECT_EQ(state.values<int64_t>()[1], count);
  return counts;
}

double chi_square(const std::map<int32_t, int>& counts, const std::vector<double>& probabilities,
                  int count) {
  double sum = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    const double expected = probabilities[i] * count;
    auto it = counts.find(static_cast<int32_t>(i));
    const double observed = it == counts.end() ? 0 : it->second;
    if (expected == 0) {
      EXPECT_EQ(observed, 0) << "token " << i;
    } else {
      sum += (observed - expected) * (observed - expected) / expected;
    }
  }
  return sum;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
  std::vector<double> p;
  for (float logit : logits) p.push_back(std::exp(logit / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

TEST(Sampler, ParametersOfEverySequence) {
  HostTensor parameters = sampler_parameters({.temperature = 0, .top_p = 0.5}, 2);
  EXPECT_EQ(parameters.dtype(), DType::kF32);
  EXPECT_EQ(parameters.shape(), (Shape{2, 2}));
  for (int64_t i : {0, 1}) {
    EXPECT_EQ(parameters.at_f64(2 * i), 0);
    EXPECT_EQ(parameters.at_f64(2 * i + 1), 0.5);
  }
}

TEST(Sampler, StateIsKeyAndCounter) {
  HostTensor state = sampler_state({.seed = 7});
  ASSERT_EQ(state.dtype(), DType::kI64);
  ASSERT_EQ(state.shape(), Shape{2});
  PhiloxKey key = philox_key(7, "sample");
  auto bits = static_cast<uint64_t>(state.values<int64_t>()[0]);
  EXPECT_EQ(static_cast<uint32_t>(bits), key[0]);
  EXPECT_EQ(static_cast<uint32_t>(bits >> 32), key[1]);
  EXPECT_EQ(state.values<int64_t>()[1], 0);
  EXPECT_NE(sampler_state({.seed = 8}).values<int64_t>()[0], state.values<int64_t>()[0]);
}

TEST(Sampler, RefusesWhatIsOutOfRange) {
  EXPECT_TRUE(check_sampler_options({}));
  EXPECT_TRUE(check_sampler_options({.temperature = 1e6, .top_p = 1e-300, .top_k = INT64_MAX}));
  auto refuses = [](const SamplerOptions& options, const std::vector<std::string>& parts) {
    Status status = check_sampler_options(options);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kUser);
    testing::expect_parts(status.error(), parts);
    HostTensor state = sampler_state(options);
    EXPECT_FALSE(sample_token(std::vector<float>{1}, options, state));
  };
  refuses({.temperature = -1}, {"temperature", "-1"});
  refuses({.temperature = 1e7}, {"temperature", "1e+07", "from 0 to 1000000"});
  refuses({.temperature = NAN}, {"temperature", "nan"});
  refuses({.temperature = INFINITY}, {"temperature", "inf"});
  refuses({.top_p = 0}, {"top-p", "above 0"});
  refuses({.top_p = 1.5}, {"top-p", "1.5"});
  refuses({.top_p = NAN}, {"top-p", "nan"});
  refuses({.top_k = -1}, {"top-k", "-1", "0 for all"});
}

TEST(Sampler, ExpIsWithinOneUlp) {
  EXPECT_EQ(exp_nonpositive(0), 1);
  EXPECT_EQ(exp_nonpositive(-0.0), 1);
  EXPECT_EQ(exp_nonpositive(-700.5), 0);
  EXPECT_EQ(exp_nonpositive(-std::numeric_limits<double>::infinity()), 0);
  RandomStream random(3, "exp");
  for (int i = 0; i < 200000; ++i) {
    const double x = -random.unit() * (i % 2 == 0 ? 700 : 2);
    const auto exact = std::exp(static_cast<long double>(x));
    const double ulp = std::nextafter(static_cast<double>(exact), 2.0) - static_cast<double>(exact);
    ASSERT_LE(std::abs(exp_nonpositive(x) - exact), ulp) << x;
  }
}

TEST(Sampler, TemperatureZeroTakesTheFirstLargest) {
  HostTensor state = sampler_state({});
  EXPECT_EQ(draw({-1, 2, 0.5f, 2}, {}, state), 1);
  EXPECT_EQ(draw({-kInfinity, -3, -kInfinity}, {.top_p = 0.1, .top_k = 2}, state), 1);
  EXPECT_EQ(draw({-1, -0.0f, 0.0f}, {}, state), 1);
  EXPECT_EQ(draw({-1, 0.0f, -0.0f}, {}, state), 1);
  EXPECT_EQ(draw({-0.0f, -1e-45f}, {}, state), 0);
  EXPECT_EQ(draw({-3e38f, -2e38f, -kInfinity}, {}, state), 1);
  EXPECT_EQ(draw({5}, {}, state), 0);
  EXPECT_EQ(state.values<int64_t>()[1], 0) << "nothing is drawn";
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  const std::vector<float> logits = {0.5f, -1, 2, 0, 1.25f, -kInfinity, -2.5f, 0.5f};
  constexpr int kDraws = 40000;
  for (const double temperature : {0.5, 1.0, 3.0}) {
    for (const uint64_t seed : {1u, 2u, 3u}) {
      const SamplerOptions options{.temperature = temperature, .seed = seed};
      // Six degrees of freedom: 22.5 is exceeded once in a thousand runs.
      EXPECT_LT(
          chi_square(histogram(logits, options, kDraws), softmax(logits, temperature), kDraws),
          22.5)
          << temperature << " " << seed;
    }
  }
}

TEST(Sampler, TopKKeepsTheFirstK) {
  // The tie between tokens 1 and 3 goes to the lower index.
  const std::vector<float> logits = {2, 1, 3, 1, 0};
  constexpr int kDraws = 30000;
  std::vector<double> kept = softmax({2, 1, 3}, 1);
  EXPECT_LT(chi_square(histogram(logits, {.temperature = 1, .top_k = 3, .seed = 4}, kDraws),
                       {kept[0], kept[1], kept[2], 0, 0}, kDraws),
            13.8);
  EXPECT_EQ(histogram(logits, {.temperature = 50, .top_k = 1}, 100), (std::map{std::pair(2, 100)}));
  EXPECT_EQ(histogram(logits, {.temperature = 50, .top_k = 5, .seed = 1}, 1000),
            histogram(logits, {.temperature = 50, .top_k = 0, .seed = 1}, 1000));
  EXPECT_EQ(histogram(logits, {.temperature = 50, .top_k = INT64_MAX, .seed = 1}, 1000),
            histogram(logits, {.temperature = 50, .top_k = 0, .seed = 1}, 1000));
}

TEST(Sampler, TopPKeepsTheShortestBeginning) {
  // Probabilities 1/2, 1/4, 1/8, 1/16, 1/16 up to rounding.
  std::vector<float> logits;
  for (const double p : {0.0625, 0.5, 0.0625, 0.25, 0.125}) {
    logits.push_back(static_cast<float>(std::log(p)));
  }
  auto kept = [&](double top_p, int64_t top_k = 0) {
    std::vector<int32_t> tokens;
    for (const auto& [token, count] :
         histogram(logits, {.temperature = 1, .top_p = top_p, .top_k = top_k}, 2000)) {
      tokens.push_back(token);
    }
    return tokens;
  };
  using Tokens = std::vector<int32_t>;
  EXPECT_EQ(kept(1e-300), Tokens{1});
  EXPECT_EQ(kept(0.49), Tokens{1});
  EXPECT_EQ(kept(0.6), (Tokens{1, 3}));
  EXPECT_EQ(kept(0.76), (Tokens{1, 3, 4}));
  EXPECT_EQ(kept(0.9), (Tokens{0, 1, 3, 4}));
  EXPECT_EQ(kept(0.95), (Tokens{0, 1, 2, 3, 4}));
  EXPECT_EQ(kept(1), (Tokens{0, 1, 2, 3, 4}));
  // After top-k: 1/2 is 2/3 of what remains.
  EXPECT_EQ(kept(0.6, 2), Tokens{1});
  constexpr int kDraws = 30000;
  EXPECT_LT(chi_square(histogram(logits, {.temperature = 1, .top_p = 0.76, .seed = 9}, kDraws),
                       {0, 4.0 / 7, 0, 2.0 / 7, 1.0 / 7}, kDraws),
            13.8);
}

TEST(Sampler, ExtremeValues) {
  HostTensor state = sampler_state({});
  const float largest = std::numeric_limits<float>::max();
  // The lowest temperature is greedy, the highest one nearly uniform; nothing overflows.
  EXPECT_EQ(draw({1, 1.0000001f, 0.5f}, {.temperature = 1e-300}, state), 1);
  EXPECT_EQ(draw({-largest, largest, 0}, {.temperature = 1}, state), 1);
  EXPECT_EQ(histogram({-largest, largest}, {.temperature = 1e6}, 50), (std::map{std::pair(1, 50)}));
  EXPECT_EQ(histogram(std::vector<float>(4, largest), {.temperature = 1e6, .seed = 2}, 400).size(),
            4u);
  EXPECT_EQ(histogram({3}, {.temperature = 1}, 10), (std::map{std::pair(0, 10)}));
}

TEST(Sampler, RefusesLogitsWithoutAValidToken) {
  auto refuses = [](const std::vector<float>& logits, const std::vector<std::string>& parts) {
    for (const double temperature : {0.0, 0.8}) {
      const SamplerOptions options{.temperature = temperature, .top_k = 1};
      HostTensor state = sampler_state(options);
      auto token = sample_token(logits, options, state);
      ASSERT_FALSE(token);
      EXPECT_EQ(token.error().kind, ErrorKind::kUser);
      testing::expect_parts(token.error(), parts);
      EXPECT_EQ(state.values<int64_t>()[1], 0);
    }
  };
  refuses({}, {"no token can be drawn", "no logits"});
  refuses({1, NAN, 2}, {"not numbers", "logit 1", "NaN", "tapml migrate"});
  refuses({1, -NAN, 2}, {"not numbers", "logit 1", "NaN"});
  refuses({NAN, kInfinity}, {"not numbers", "logit 0", "NaN"});
  refuses({1, 2, kInfinity}, {"not finite", "logit 2", "+infinity"});
  refuses({-kInfinity, -kInfinity}, {"no token can be drawn", "-infinity everywhere"});
}

struct Case {
  SamplerOptions options;
  std::vector<std::vector<float>> logits;  // of each draw
  std::vector<int32_t> tokens;
};

// tests/golden/make_sampler.py defines how the seed determines the logits.
std::vector<Case> golden_cases() {
  const std::string path = testing::golden_path("sampler.json");
  const Json json = unwrap(parse_json(unwrap(read_text_file(path)), path));
  std::vector<Case> cases;
  for (const Json& item : json.items()) {
    const JsonObjectReader r(item, path);
    Case test;
    test.options.seed = static_cast<uint64_t>(unwrap(r.required_int("seed")));
    test.options.temperature = unwrap(r.required_float("temperature"));
    test.options.top_k = unwrap(r.required_int("top_k"));
    test.options.top_p = unwrap(r.required_float("top_p"));
    for (int64_t token : unwrap(r.required_int_array("tokens"))) {
      test.tokens.push_back(static_cast<int32_t>(token));
    }
    const auto vocabulary = static_cast<size_t>(unwrap(r.required_int("vocabulary")));
    const bool ties = unwrap(r.required_bool("ties"));
    for (size_t i = 0; i < test.tokens.size(); ++i) {
      std::vector<float> row(vocabulary);
      fill_uniform(row, philox_key(test.options.seed, "logits"), i * vocabulary);
      for (float& value : row) {
        value *= 6;
        if (ties) value = std::nearbyint(value * 4) / 4;
      }
      test.logits.push_back(std::move(row));
    }
    cases.push_back(std::move(test));
  }
  return cases;
}

TEST(SamplerGolden, TokensOfTheReference) {
  const std::vector<Case> cases = golden_cases();
  ASSERT_EQ(cases.size(), 8u);
  for (const Case& test : cases) {
    HostTensor state = sampler_state(test.options);
    std::vector<int32_t> tokens;
    for (const auto& logits : test.logits) tokens.push_back(draw(logits, test.options, state));
    EXPECT_EQ(tokens, test.tokens) << "seed " << test.options.seed;
  }
}

}  // namespace
}  // namespace tapml::llm
