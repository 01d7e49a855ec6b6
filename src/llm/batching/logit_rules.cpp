#include "llm/batching/logit_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>
#include <string>

namespace tapml::llm {

namespace {

Status check_range(const char* name, double value, double low, double high) {
  if (value >= low && value <= high) return {};  // NaN fails too
  std::ostringstream expected, found;
  expected << "a number from " << low << " to " << high;
  found << value;
  return fail(user_error("a rule for logits is out of range", name, expected.str(), found.str()));
}

}  // namespace

bool LogitRules::is_empty() const {
  return repetition_penalty == 1 && frequency_penalty == 0 && presence_penalty == 0 && min_p == 0 &&
         bias.empty();
}

Status check_logit_rules(const LogitRules& rules, int64_t vocabulary) {
  TAPML_TRY(check_range("repetition_penalty", rules.repetition_penalty, 0.01, 100));
  TAPML_TRY(check_range("frequency_penalty", rules.frequency_penalty, -100, 100));
  TAPML_TRY(check_range("presence_penalty", rules.presence_penalty, -100, 100));
  TAPML_TRY(check_range("min_p", rules.min_p, 0, 1));
  for (const auto& [token, bias] : rules.bias) {
    if (token < 0 || token >= vocabulary) {
      return fail(user_error("a biased token is outside the vocabulary", "logit_bias",
                             "from 0 to " + std::to_string(vocabulary - 1), std::to_string(token)));
    }
    if (bias != -std::numeric_limits<double>::infinity()) {
      TAPML_TRY(check_range("logit_bias", bias, -1000, 1000));
    }
  }
  return {};
}

void apply_logit_rules(const LogitRules& rules, const SamplerOptions& sampler,
                       std::span<const int32_t> tokens, int64_t prompt, std::span<float> logits) {
  if (rules.repetition_penalty != 1) {
    for (const int32_t token : std::set<int32_t>(tokens.begin(), tokens.end())) {
      float& logit = logits[static_cast<size_t>(token)];
      const double penalty = rules.repetition_penalty;
      logit = static_cast<float>(logit > 0 ? logit / penalty : logit * penalty);
    }
  }
  if (rules.frequency_penalty != 0 || rules.presence_penalty != 0) {
    std::map<int32_t, int64_t> counts;
    for (const int32_t token : tokens.subspan(static_cast<size_t>(prompt))) ++counts[token];
    for (const auto& [token, count] : counts) {
      float& logit = logits[static_cast<size_t>(token)];
      logit = static_cast<float>(logit - static_cast<double>(count) * rules.frequency_penalty -
                                 rules.presence_penalty);
    }
  }
  for (const auto& [token, bias] : rules.bias) {
    float& logit = logits[static_cast<size_t>(token)];
    logit = static_cast<float>(logit + bias);
  }
  if (rules.min_p > 0 && sampler.temperature > 0) {
    const double largest = *std::ranges::max_element(logits);
    for (float& logit : logits) {
      if (exp_nonpositive((logit - largest) / sampler.temperature) >= rules.min_p) continue;
      logit = -std::numeric_limits<float>::infinity();
    }
  }
}

TokenProbabilities log_probabilities(std::span<const float> logits, int32_t chosen, int64_t top) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += exp_nonpositive(logit - largest);
  const double normalizer = largest + std::log(sum);
  TokenProbabilities result;
  result.chosen = logits[static_cast<size_t>(chosen)] - normalizer;
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  const auto is_before = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto end = order.begin() + std::min<int64_t>(top, std::ssize(order));
  std::partial_sort(order.begin(), end, order.end(), is_before);
  for (auto token = order.begin(); token != end; ++token) {
    result.top.emplace_back(*token, logits[static_cast<size_t>(*token)] - normalizer);
  }
  return result;
}

}  // namespace tapml::llm
