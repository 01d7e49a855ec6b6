#include "llm/speculation/accept.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "ir/exceptions.h"

namespace tapml::llm {
namespace {

// Unlikely to be exceeded by a right distribution: 1 in 10,000 with so many degrees of freedom.
constexpr double kCritical3 = 21.1, kCritical4 = 23.5;

std::vector<double> probabilities_of(const Candidates& of, size_t vocabulary) {
  std::vector<double> all(vocabulary);
  double before = 0;
  for (size_t i = 0; i < of.tokens.size(); ++i) {
    all[static_cast<size_t>(of.tokens[i])] = (of.sums[i] - before) / of.total();
    before = of.sums[i];
  }
  return all;
}

struct Drawn {
  double chi_square = 0;
  double accepted = 0;  // share
};

// Proposes tokens of `draft` and accepts them for `model`, and compares with the model's
// probabilities.
Drawn draw_many(const std::vector<float>& model, const std::vector<float>& draft,
                const SamplerOptions& options, int count) {
  const Candidates wanted = unwrap(candidates_of(model, options));
  const Candidates from = unwrap(candidates_of(draft, options));
  HostTensor proposing = sampler_state({.temperature = 1, .seed = options.seed + 100});
  HostTensor generator = sampler_state(options);
  std::vector<int> counts(model.size());
  Drawn drawn;
  for (int i = 0; i < count; ++i) {
    const int32_t proposed = from.take(draw_unit(proposing));
    const int32_t token = accept_or_redraw(wanted, from, proposed, generator);
    ++counts[static_cast<size_t>(token)];
    drawn.accepted += token == proposed ? 1.0 / count : 0;
  }
  const std::vector<double> p = probabilities_of(wanted, model.size());
  for (size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * count;
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i;
      continue;
    }
    drawn.chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return drawn;
}

TEST(Acceptance, TokensHaveTheModelsDistribution) {
  const std::vector<float> model = {0.5F, 1.5F, -1, 0.2F, 0};
  const std::vector<float> draft = {1.5F, 0.5F, 0, 0.1F, -2};
  constexpr int kDraws = 40000;
  const Drawn drawn = draw_many(model, draft, {.temperature = 1, .seed = 3}, kDraws);
  EXPECT_LT(drawn.chi_square, kCritical4);
  // The share that the rule accepts is the sum of min(p, q).
  const SamplerOptions options{.temperature = 1};
  const auto p = probabilities_of(unwrap(candidates_of(model, options)), 5);
  const auto q = probabilities_of(unwrap(candidates_of(draft, options)), 5);
  double overlap = 0;
  for (size_t i = 0; i < 5; ++i) overlap += std::min(p[i], q[i]);
  EXPECT_NEAR(drawn.accepted, overlap, 0.01);
  EXPECT_LT(overlap, 0.7);
}

TEST(Acceptance, TokensThatTheOptionsLeaveOutAreNeverTaken) {
  const std::vector<float> model = {3, 2.5F, 2, 1.5F, 1};
  const std::vector<float> draft = {1, 1.5F, 2, 2.5F, 3};
  EXPECT_LT(draw_many(model, draft, {.temperature = 2, .top_k = 4, .seed = 5}, 40000).chi_square,
            kCritical3);
  EXPECT_LT(draw_many(model, draft, {.temperature = 1, .top_p = 0.8, .seed = 6}, 40000).chi_square,
            kCritical3);
  // What the draft model cannot propose is drawn, too, and what the model excludes is not.
  const float excluded = -std::numeric_limits<float>::infinity();
  const Drawn apart = draw_many({1, 2, excluded, excluded}, {excluded, excluded, 1, 2},
                                {.temperature = 1, .seed = 7}, 20000);
  EXPECT_LT(apart.chi_square, kCritical3);
  EXPECT_EQ(apart.accepted, 0);
}

TEST(Acceptance, EqualDistributionsAcceptAlways) {
  const std::vector<float> logits = {0.1F, 0.7F, -0.3F, 2};
  const Drawn drawn = draw_many(logits, logits, {.temperature = 0.7, .seed = 8}, 20000);
  EXPECT_NEAR(drawn.accepted, 1, 1e-9);
  EXPECT_LT(drawn.chi_square, kCritical3);
}

}  // namespace
}  // namespace tapml::llm
