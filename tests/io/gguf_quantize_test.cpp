#include "io/gguf_quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "base/rng.h"

namespace tapml {
namespace {

// Normally distributed, as trained matrices nearly are.
std::vector<float> normal_weights(size_t count, float deviation) {
  std::vector<float> units(2 * count), weights(count);
  fill_uniform(units, philox_key(7, "normal weights"));
  for (size_t i = 0; i < count; ++i) {
    const double a = (units[2 * i] + 1) / 2, b = units[2 * i + 1];
    weights[i] = static_cast<float>(deviation * std::sqrt(-2 * std::log(1 - a * 0.9999999)) *
                                    std::cos(std::numbers::pi * b));
  }
  return weights;
}

std::vector<float> through(const GgufType& type, const std::vector<float>& weights) {
  std::vector<std::byte> blocks(weights.size() / static_cast<size_t>(type.elements) *
                                type.block_bytes);
  quantize_gguf(type, weights, blocks.data());
  std::vector<float> values(weights.size());
  dequantize_gguf(type, blocks.data(), values);
  return values;
}

const GgufType& named(std::string_view name) {
  for (const GgufType& one : gguf_types()) {
    if (one.name == name) return one;
  }
  throw std::out_of_range(std::string(name));
}

double relative_error(const GgufType& type, const std::vector<float>& weights) {
  const std::vector<float> values = through(type, weights);
  double error = 0, square = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    error += std::pow(static_cast<double>(weights[i]) - values[i], 2);
    square += std::pow(static_cast<double>(weights[i]), 2);
  }
  return std::sqrt(error / square);
}

// The root mean square of the errors, relative to that of the weights. docs/gguf.md has the table.
TEST(GgufQuantize, ErrorsOnNormalWeights) {
  const std::map<std::string_view, double> measured = {
      {"F32", 0},       {"F16", 0.000207},  {"BF16", 0.00166}, {"Q8_0", 0.00534}, {"Q6_K", 0.0173},
      {"Q5_K", 0.0358}, {"Q5_1", 0.0339},   {"Q5_0", 0.0403},  {"Q4_K", 0.0716},  {"Q4_1", 0.0703},
      {"Q4_0", 0.0814}, {"IQ4_NL", 0.0746}, {"MXFP4", 0.111},  {"Q3_K", 0.145},   {"Q2_K", 0.274}};
  const std::vector<float> weights = normal_weights(size_t{1} << 16, 0.02f);
  for (const GgufType& type : gguf_types()) {
    SCOPED_TRACE(type.name);
    ASSERT_TRUE(measured.contains(type.name));
    const double expected = measured.at(type.name);
    EXPECT_NEAR(relative_error(type, weights), expected, 0.02 * expected);
  }
  EXPECT_LT(relative_error(named("Q4_K"), weights), relative_error(named("Q4_0"), weights));
  EXPECT_LT(relative_error(named("Q8_0"), weights), 0.006);
}

// What a type holds already loses little when it is quantized again.
TEST(GgufQuantize, KeepsValuesOfItsOwn) {
  const std::vector<float> weights = normal_weights(size_t{1} << 14, 0.02f);
  for (const GgufType& type : gguf_types()) {
    SCOPED_TRACE(type.name);
    EXPECT_LT(relative_error(type, through(type, weights)), 0.02);
  }
}

TEST(GgufQuantize, ZerosAndConstants) {
  for (const GgufType& type : gguf_types()) {
    SCOPED_TRACE(type.name);
    EXPECT_EQ(through(type, std::vector<float>(256, 0.0f)), std::vector<float>(256, 0.0f));
    for (const float constant : {0.75f, -0.75f}) {
      for (const float value : through(type, std::vector<float>(256, constant))) {
        EXPECT_NEAR(value, constant, 0.02);
      }
    }
  }
}

// From the smallest number to those beyond f16: finite numbers of the same signs.
TEST(GgufQuantize, ExtremeSizesStayFinite) {
  for (const GgufType& type : gguf_types()) {
    if (type.plain) continue;
    SCOPED_TRACE(type.name);
    for (const float size : {1e-45f, 1e-38f, 1e-20f, 1e-6f, 1e6f, 1e15f}) {
      std::vector<float> weights = normal_weights(256, 1);
      for (float& weight : weights) weight *= size;
      for (const float value : through(type, weights)) EXPECT_TRUE(std::isfinite(value)) << size;
    }
  }
}

}  // namespace
}  // namespace tapml
