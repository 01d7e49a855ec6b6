#include <gtest/gtest.h>

#include <cmath>

#include "models/architectures/llama.h"

namespace tapml::models {
namespace {

TEST(RopeFrequencies, FallGeometrically) {
  std::vector<float> frequencies = rope_frequencies({.theta = 10000}, 8);
  ASSERT_EQ(frequencies.size(), 4u);
  EXPECT_EQ(frequencies[0], 1.0f);
  EXPECT_NEAR(frequencies[1], 0.1, 1e-8);
  EXPECT_NEAR(frequencies[2], 0.01, 1e-9);
  EXPECT_NEAR(frequencies[3], 0.001, 1e-10);
}

TEST(RopeFrequencies, LinearScalingDividesAll) {
  RopeConfig rope{.theta = 10000, .scaling = RopeConfig::Scaling::kLinear, .factor = 4};
  std::vector<float> frequencies = rope_frequencies(rope, 4);
  EXPECT_EQ(frequencies[0], 0.25f);
  EXPECT_NEAR(frequencies[1], 0.0025, 1e-9);
}

TEST(RopeFrequencies, LongRopeDividesEachPair) {
  RopeConfig rope{.theta = 10000, .scaling = RopeConfig::Scaling::kLongRope};
  rope.factors = {1.0f, 2.0f, 4.0f, 0.5f};
  const std::vector<float> plain = rope_frequencies({.theta = 10000}, 8);
  const std::vector<float> scaled = rope_frequencies(rope, 8);
  for (size_t j = 0; j < plain.size(); ++j) EXPECT_EQ(scaled[j], plain[j] / rope.factors[j]) << j;
}

TEST(RopeFrequencies, Llama3ScalingByWavelength) {
  RopeConfig rope{.theta = 500000, .scaling = RopeConfig::Scaling::kLlama3, .factor = 8};
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.original_context = 64;
  std::vector<float> plain = rope_frequencies({.theta = 500000}, 16);
  std::vector<float> scaled = rope_frequencies(rope, 16);
  int kept = 0, blended = 0, slowed = 0;
  for (size_t j = 0; j < plain.size(); ++j) {
    const double wavelength = 2 * M_PI / plain[j];
    if (wavelength < 16) {
      EXPECT_EQ(scaled[j], plain[j]);
      ++kept;
    } else if (wavelength > 64) {
      EXPECT_EQ(scaled[j], plain[j] / 8);
      ++slowed;
    } else {
      const double smooth = (64 / wavelength - 1) / 3;
      EXPECT_NEAR(scaled[j], (1 - smooth) * plain[j] / 8 + smooth * plain[j], 1e-7);
      ++blended;
    }
  }
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(blended, 1);
  EXPECT_EQ(slowed, 6);
}

}  // namespace
}  // namespace tapml::models
