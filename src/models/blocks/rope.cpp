#include "models/blocks/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapml::models {

namespace {

// Llama 3's rule: a rotation whose wavelength exceeds original_context / low_freq_factor is slowed
// down by `factor`; one shorter than original_context / high_freq_factor is unchanged; in between,
// the frequency is interpolated linearly in the number of turns over the original context.
float llama3_frequency(const RopeConfig& rope, float frequency) {
  const auto original = static_cast<float>(rope.original_context);
  const auto factor = static_cast<float>(rope.factor);
  const auto low = static_cast<float>(rope.low_freq_factor);
  const auto low_wavelength =
      static_cast<float>(static_cast<double>(rope.original_context) / rope.low_freq_factor);
  const auto high_wavelength =
      static_cast<float>(static_cast<double>(rope.original_context) / rope.high_freq_factor);
  const float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
  if (wavelength > low_wavelength) return frequency / factor;
  if (wavelength < high_wavelength) return frequency;
  const float smooth = (original / wavelength - low) /
                       static_cast<float>(rope.high_freq_factor - rope.low_freq_factor);
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

// The pair that makes `turns` turns over the original context.
double yarn_pair(const RopeConfig& rope, double turns, int64_t rotated) {
  return static_cast<double>(rotated) *
         std::log(static_cast<double>(rope.original_context) / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

// YaRN's rule: pairs that turn often keep their frequency, those that turn rarely are slowed down
// by `factor`, and those between are interpolated linearly in their number.
float yarn_frequency(const RopeConfig& rope, int64_t rotated, int64_t j, float power) {
  double low = yarn_pair(rope, rope.beta_fast, rotated);
  double high = yarn_pair(rope, rope.beta_slow, rotated);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotated - 1));
  if (low == high) high += 0.001;
  const float slowed =
      std::clamp((static_cast<float>(j) - static_cast<float>(low)) / static_cast<float>(high - low),
                 0.0f, 1.0f);
  const float kept = 1.0f - slowed;
  const float slow = 1.0f / (static_cast<float>(rope.factor) * power), fast = 1.0f / power;
  return slow * (1.0f - kept) + fast * kept;
}

}  // namespace

std::vector<float> rope_frequencies(const RopeConfig& rope, int64_t head_dim) {
  std::vector<float> frequencies;
  const int64_t rotated = rope.rotated > 0 ? rope.rotated : head_dim;
  const double turning = std::floor(rope.turning * static_cast<double>(head_dim) / 2);
  for (int64_t j = 0; j < rotated / 2; ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(rotated);
    const auto power = static_cast<float>(std::pow(rope.theta, static_cast<double>(exponent)));
    float frequency = 1.0f / power;
    if (rope.scaling == RopeConfig::Scaling::kLinear) {
      frequency /= static_cast<float>(rope.factor);
    } else if (rope.scaling == RopeConfig::Scaling::kLlama3) {
      frequency = llama3_frequency(rope, frequency);
    } else if (rope.scaling == RopeConfig::Scaling::kYarn) {
      frequency = yarn_frequency(rope, rotated, j, power);
    } else if (rope.scaling == RopeConfig::Scaling::kLongRope) {
      frequency = 1.0f / (rope.factors.at(static_cast<size_t>(j)) * power);
    } else if (rope.scaling == RopeConfig::Scaling::kProportional) {
      frequency =
          static_cast<double>(j) < turning ? frequency / static_cast<float>(rope.factor) : 0;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

double yarn_scale(double factor, double by) {
  return factor <= 1 ? 1 : 0.1 * by * std::log(factor) + 1;
}

Rope make_rope(const RopeConfig& rope, int64_t head_dim) {
  Rope made{.frequencies = rope_frequencies(rope, head_dim),
            .interleaved = rope.interleaved,
            .scale = rope.scale,
            .long_frequencies = {},
            .short_text = short_text_of(rope)};
  if (made.short_text > 0) {
    RopeConfig of_long = rope;
    of_long.factors = rope.long_factors;
    made.long_frequencies = rope_frequencies(of_long, head_dim);
  }
  return made;
}

int64_t short_text_of(const RopeConfig& rope) {
  return rope.long_factors.empty() ? 0 : rope.original_context;
}

namespace {

// f32[m], or f32[b, m] where they depend on the length of a text.
relax::Expr frequencies_of(Graph& g, const Rope& rope) {
  if (rope.short_text == 0) return g.constant(rope.frequencies);
  const relax::Variable lengths =
      g.op("reshape", {g.text_lengths(), relax::make_shape({g.batch(), 1})});
  const relax::Variable is_long =
      g.op("greater", {lengths, Graph::number(static_cast<double>(rope.short_text), DType::kI32)});
  return g.op("where", {is_long, g.constant(rope.long_frequencies), g.constant(rope.frequencies)});
}

}  // namespace

relax::Variable rotate_by(Graph& g, const relax::Variable& x, const relax::Variable& cosine,
                          const relax::Variable& sine) {
  const int64_t half = Graph::width(x) / 2;
  const relax::Variable parts =
      g.op("split", {x}, {{"axis", int64_t{-1}}, {"sizes", std::vector<int64_t>{half, half}}});
  const relax::Variable a = g.field(parts, 0), b = g.field(parts, 1);
  const auto product = [&](const relax::Variable& part, const relax::Variable& factor) {
    return g.op("multiply", {part, factor});
  };
  const relax::Variable first = g.op("subtract", {product(a, cosine), product(b, sine)});
  const relax::Variable second = g.add(product(b, cosine), product(a, sine));
  return g.narrowed(g.op("concat", {relax::make_tuple({first, second})}, {{"axis", int64_t{-1}}}));
}

relax::Variable rotate(Graph& g, const relax::Variable& x, const Rope& rope) {
  if (rope.cosine) return rotate_by(g, x, rope.cosine, rope.sine);
  AttrMap attrs;
  if (rope.interleaved) attrs["interleaved"] = true;
  if (rope.scale != 1) attrs["scale"] = rope.scale;
  return g.op("rope", {x, g.lengths(), frequencies_of(g, rope)}, std::move(attrs));
}

relax::Variable query_factors(Graph& g, const QueryGrowth& growth) {
  if (growth.strength == 0) return {};
  const auto number = [](double value) { return Graph::number(value, DType::kF32); };
  relax::Variable x = g.widened(g.positions());
  if (growth.offset != 0) x = g.add(x, number(static_cast<double>(growth.offset)));
  x = g.op("floor", {g.op("divide", {x, number(growth.step)})});
  x = g.scaled(g.op("log", {g.add(x, number(1))}), growth.strength);
  return g.op("reshape", {g.add(x, number(1)), relax::make_shape({g.batch(), g.tokens(), 1, 1})});
}

}  // namespace tapml::models
