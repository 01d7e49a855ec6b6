#include "llm/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "base/rng.h"

namespace tapml::llm {

namespace {

constexpr const char* kStream = "sample";

std::string number_text(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::unexpected<Error> bad_logits(const std::string& problem, size_t at, std::string found) {
  return fail(user_error(problem, "logit " + std::to_string(at),
                         "finite numbers, or -infinity for excluded tokens", std::move(found),
                         "a weight or a kernel is broken: tapml migrate compares every kernel"));
}

// A key to sort tokens by: rising keys mean falling logits, then rising indices.
uint64_t order_key(float logit, size_t index) {
  const uint32_t bits = std::bit_cast<uint32_t>(logit == 0 ? 0.0f : logit);
  const uint32_t rising = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return uint64_t{~rising} << 32 | index;
}

Result<std::vector<uint64_t>> order_keys(std::span<const float> logits) {
  std::vector<uint64_t> keys;
  keys.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const float logit = logits[i];
    if (std::isnan(logit)) return bad_logits("the model's logits are not numbers", i, "NaN");
    if (logit == std::numeric_limits<float>::infinity()) {
      return bad_logits("the model's logits are not finite", i, "+infinity");
    }
    if (std::isfinite(logit)) keys.push_back(order_key(logit, i));
  }
  if (keys.empty()) {
    return bad_logits("no token can be drawn", 0,
                      logits.empty() ? "no logits" : "-infinity everywhere");
  }
  return keys;
}

// Maps floats to integers in the same order, with NaN at both ends.
int32_t rising_bits(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits ^ static_cast<int32_t>(static_cast<uint32_t>(bits >> 31) >> 1);
}

// The first of the largest logits. Uses integers, so that the compiler can vectorize.
Result<int32_t> most_likely_token(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const int32_t lowest = rising_bits(-kInfinity);
  int32_t smallest = std::numeric_limits<int32_t>::max(), largest = lowest;
  for (const float logit : logits) {
    const int32_t bits = rising_bits(logit);
    smallest = std::min(smallest, bits);
    largest = std::max(largest, bits);
  }
  if (smallest < lowest || largest == lowest || largest >= rising_bits(kInfinity)) {
    return fail(order_keys(logits).error());
  }
  // rising_bits() is its own inverse.
  const float value = std::bit_cast<float>(rising_bits(std::bit_cast<float>(largest)));
  return static_cast<int32_t>(std::ranges::find(logits, value) - logits.begin());
}

}  // namespace

Status check_sampler_options(const SamplerOptions& options) {
  // Written so that NaN fails too.
  if (!(options.temperature >= 0 && options.temperature <= 1e6)) {
    return fail(user_error("the temperature is out of range", "temperature",
                           "a number from 0 to 1000000", number_text(options.temperature)));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return fail(user_error("top-p is out of range", "top-p", "a number above 0, at most 1",
                           number_text(options.top_p)));
  }
  if (options.top_k < 0) {
    return fail(user_error("top-k is out of range", "top-k",
                           "a number of tokens, or 0 for all of them",
                           std::to_string(options.top_k)));
  }
  return {};
}

HostTensor sampler_parameters(const SamplerOptions& options, int64_t batch) {
  HostTensor parameters = HostTensor::zeros(DType::kF32, {batch, 2});
  for (int64_t i = 0; i < batch; ++i) {
    parameters.set_f64(2 * i, options.temperature);
    parameters.set_f64(2 * i + 1, options.top_p);
  }
  return parameters;
}

HostTensor draw_parameters(const SamplerOptions& options, int64_t batch) {
  HostTensor parameters = HostTensor::zeros(DType::kF64, {batch, 3});
  for (int64_t i = 0; i < batch; ++i) {
    parameters.set_f64(3 * i, options.temperature);
    parameters.set_f64(3 * i + 1, options.top_p);
    parameters.set_f64(3 * i + 2, static_cast<double>(options.top_k));
  }
  return parameters;
}

HostTensor sampler_state(const SamplerOptions& options) {
  const PhiloxKey key = philox_key(options.seed, kStream);
  HostTensor state = HostTensor::zeros(DType::kI64, {2});
  state.mutable_values<int64_t>()[0] =
      static_cast<int64_t>(uint64_t{key[0]} | uint64_t{key[1]} << 32);
  return state;
}

double exp_nonpositive(double x) {
  if (!(x >= -700)) return 0;
  // x = n ln 2 + r with |r| <= ln 2 / 2; n * kLn2High is exact.
  constexpr double kLn2High = 0x1.62e42feep-1, kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
  const double n = std::floor(x * kInverseLn2 + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // The 14th term of the Taylor series is below 2^-57 for such r.
  double sum = 1.0 / 13;
  for (int k = 12; k >= 2; --k) sum = (1 + r * sum) / k;
  return std::ldexp(1 + (r + r * r * sum), static_cast<int>(n));
}

Status check_logits(std::span<const float> logits) {
  TAPML_ASSIGN([[maybe_unused]] const int32_t token, most_likely_token(logits));
  return {};
}

double draw_unit(HostTensor& state) {
  const auto values = state.mutable_values<int64_t>();
  const auto key = static_cast<uint64_t>(values[0]);
  const auto counter = static_cast<uint64_t>(values[1]);
  values[1] = static_cast<int64_t>(counter + 1);
  return RandomStream({static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}, 2 * counter)
      .unit();
}

int32_t Candidates::take(double u) const {
  // u * total() may round up to it, so the last token is the one that is left.
  const auto taken = std::upper_bound(sums.begin(), sums.end() - 1, u * total());
  return tokens[static_cast<size_t>(taken - sums.begin())];
}

Result<Candidates> candidates_of(std::span<const float> logits, const SamplerOptions& options) {
  TAPML_ASSIGN(std::vector<uint64_t> keys, order_keys(logits));
  auto index_of = [](uint64_t key) { return static_cast<uint32_t>(key); };
  if (options.top_k > 0 && static_cast<uint64_t>(options.top_k) < keys.size()) {
    std::nth_element(keys.begin(), keys.begin() + options.top_k, keys.end());
    keys.resize(static_cast<size_t>(options.top_k));
  }
  std::sort(keys.begin(), keys.end());

  const double largest = logits[index_of(keys[0])];
  Candidates kept;
  kept.sums.reserve(keys.size());
  double sum = 0;
  for (const uint64_t key : keys) {
    sum += exp_nonpositive((logits[index_of(key)] - largest) / options.temperature);
    kept.sums.push_back(sum);
  }
  const auto last = std::lower_bound(kept.sums.begin(), kept.sums.end(), options.top_p * sum);
  kept.sums.erase(last + 1, kept.sums.end());
  kept.tokens.reserve(kept.sums.size());
  for (size_t i = 0; i < kept.sums.size(); ++i) {
    kept.tokens.push_back(static_cast<int32_t>(index_of(keys[i])));
  }
  return kept;
}

Result<int32_t> sample_token(std::span<const float> logits, const SamplerOptions& options,
                             HostTensor& state) {
  TAPML_TRY(check_sampler_options(options));
  if (options.temperature == 0) return most_likely_token(logits);
  TAPML_ASSIGN(const Candidates kept, candidates_of(logits, options));
  return kept.take(draw_unit(state));
}

}  // namespace tapml::llm
