#include "frontend/gguf/rope_factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr double kTolerance = 1e-4;
constexpr const char* kFactors = "rope_freqs.weight";

std::vector<double> values_of(const GgufFields& fields, const GgufTensor& tensor) {
  if (tensor.shape.size() != 1) {
    throw_user(fields.source() + ": tensor " + in_quotes(tensor.name) + " is not a vector",
               fields.source(), "one factor for each pair of a head",
               shape_to_string(tensor.shape));
  }
  std::vector<float> narrow(static_cast<size_t>(tensor.size()));
  dequantize_gguf(*tensor.type, tensor.bytes.data(), narrow);
  return {narrow.begin(), narrow.end()};
}

// Llama 3's rule, with the low factor 1: only the quotients of its three numbers matter.
struct Llama3Rule {
  double factor = 1, high = 4, context = 8192;

  double of(double wavelength) const {
    if (wavelength > context) return factor;
    if (wavelength < context / high) return 1;
    const double part = (context / wavelength - 1) / (high - 1);
    return 1 / ((1 - part) / factor + part);
  }
};

// The rule that gives these factors: its factor is the largest one, and those between 1 and it are
// on a line, as functions of the wavelength.
std::optional<Llama3Rule> find_rule(const std::vector<double>& factors,
                                    const std::vector<double>& wavelengths) {
  Llama3Rule rule{.factor = *std::ranges::max_element(factors)};
  const auto fits = [&](const Llama3Rule& tried) {
    for (size_t i = 0; i < factors.size(); ++i) {
      if (std::abs(tried.of(wavelengths[i]) - factors[i]) > kTolerance * factors[i]) return false;
    }
    return true;
  };
  if (rule.factor <= 1 || fits(rule)) return rule.factor < 1 ? std::nullopt : std::optional(rule);
  std::vector<size_t> between;
  double longest_kept = 0, shortest_slowed = INFINITY;
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] <= 1) {
      longest_kept = std::max(longest_kept, wavelengths[i]);
    } else if (factors[i] >= rule.factor) {
      shortest_slowed = std::min(shortest_slowed, wavelengths[i]);
    } else {
      between.push_back(i);
    }
  }
  const auto part_of = [&](size_t i) {
    return (1 / factors[i] - 1 / rule.factor) / (1 - 1 / rule.factor);
  };
  if (between.size() >= 2) {
    const size_t a = between.front(), b = between.back();
    const double slope = (part_of(a) - part_of(b)) / (1 / wavelengths[a] - 1 / wavelengths[b]);
    const double offset = slope / wavelengths[a] - part_of(a);
    rule.high = std::round((1 + 1 / offset) * 1000) / 1000;
    rule.context = std::round(slope / offset);
  } else if (between.size() == 1) {
    const size_t a = between.front();
    rule.context = std::round((part_of(a) * (rule.high - 1) + 1) * wavelengths[a]);
  } else {
    rule.context = std::round(std::sqrt(longest_kept * rule.high * shortest_slowed));
  }
  const bool is_valid = std::isfinite(rule.context) && rule.context >= 1 && rule.context < 1e9 &&
                        std::isfinite(rule.high) && rule.high > 1;
  return is_valid && fits(rule) ? std::optional(rule) : std::nullopt;
}

}  // namespace

void add_llama3_scaling(const GgufFields& fields, Json& config) {
  const GgufTensor* tensor = fields.tensor(kFactors);
  if (!tensor) return;
  const std::vector<double> factors = values_of(fields, *tensor);
  const double theta = fields.number(".rope.freq_base").value_or(10000);
  std::vector<double> wavelengths;
  for (size_t i = 0; i < factors.size(); ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(factors.size());
    wavelengths.push_back(2 * std::numbers::pi * std::pow(theta, exponent));
  }
  const bool are_finite = std::ranges::all_of(factors, [](double f) { return std::isfinite(f); });
  const auto rule = factors.empty() || !are_finite ? std::nullopt : find_rule(factors, wavelengths);
  if (!rule) {
    throw_user(fields.source() + ": tensor " + in_quotes(kFactors) +
                   " has factors that do not follow Llama 3's rule",
               fields.source(), "factors of 1, of the largest one and between them",
               std::to_string(factors.size()) + " other ones");
  }
  if (rule->factor == 1) return;
  config.set("rope_scaling", Json::object({{"rope_type", Json::string("llama3")},
                                           {"factor", Json::number(rule->factor)},
                                           {"low_freq_factor", Json::number(1)},
                                           {"high_freq_factor", Json::number(rule->high)},
                                           {"original_max_position_embeddings",
                                            Json::integer(static_cast<int64_t>(rule->context))}}));
}

void add_longrope_scaling(const GgufFields& fields, Json& config) {
  const GgufTensor* short_factors = fields.tensor("rope_factors_short.weight");
  const GgufTensor* long_factors = fields.tensor("rope_factors_long.weight");
  if (!short_factors || !long_factors) return;
  const auto list = [&](const GgufTensor& tensor) {
    std::vector<Json> items;
    for (const double value : values_of(fields, tensor)) {
      if (!std::isfinite(value)) {
        throw_user(fields.source() + ": tensor " + in_quotes(tensor.name) +
                       " has a factor that is no number",
                   fields.source(), "finite factors", "an infinity or a NaN");
      }
      items.push_back(Json::number(shortest_f32(value)));
    }
    return Json::array(std::move(items));
  };
  Json scaling = Json::object({{"rope_type", Json::string("longrope")},
                               {"short_factor", list(*short_factors)},
                               {"long_factor", list(*long_factors)}});
  if (const auto factor = fields.number(".rope.scaling.attn_factor")) {
    scaling.set("attention_factor", Json::number(*factor));
  }
  config.set("rope_scaling", std::move(scaling));
  if (const auto context = fields.integer(".rope.scaling.original_context_length")) {
    config.set("original_max_position_embeddings", Json::integer(*context));
  }
}

}  // namespace tapml::frontend
