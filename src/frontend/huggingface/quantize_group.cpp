#include "frontend/huggingface/quantize_group.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tapml::frontend {

namespace {

constexpr size_t kElements = models::kQuantizationGroup;
constexpr size_t kLanes = 4;
using Lanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
constexpr size_t kVectors = kElements / kLanes;
static_assert(kElements % kLanes == 0);

using Group = std::array<Lanes, kVectors>;

// Candidate scales range from x / 7 to x / 8.9 for the element x with the largest magnitude.
constexpr int kTried = 20;
constexpr float kFirstLevel = 7.0f, kLevelStep = 0.1f;
// Outside this range, sums of squares overflow or underflow f32 when candidates are compared.
constexpr float kSmallest = 1e-18f, kLargest = 1e15f;

float sum(Lanes lanes) { return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]); }

// Rounds elements, in units of the scale, to the nearest level, ties to even: the constant that is
// added has no bits below 1.
Lanes levels_of(Lanes units) {
  const Lanes lowest = Lanes{} + float{kLowestLevel}, highest = Lanes{} + float{kHighestLevel};
  constexpr float kNoFraction = 0x1.8p23f;
  const Lanes inside = units < lowest ? lowest : (units > highest ? highest : units);
  return (inside + kNoFraction) - kNoFraction;
}

// The least-squares scale for the levels of 1 / inverse; `gain` is the reduction of the sum of
// squares of the elements.
float refit(const Group& group, float inverse, float& gain) {
  Lanes products{}, squares{};
  for (const Lanes element : group) {
    const Lanes level = levels_of(element * inverse);
    products += element * level;
    squares += level * level;
  }
  const float product = sum(products), square = sum(squares);
  gain = square > 0 ? product * product / square : 0;
  return square > 0 ? product / square : 0;
}

float rounded(float scale, DType dtype) {
  return dtype == DType::kF16 ? f16_to_f32(f32_to_f16(scale)) : scale;
}

// Levels for a stored scale, and the resulting error.
float quantize(const Group& group, float scale, Group& levels) {
  Lanes error{};
  for (size_t i = 0; i < kVectors; ++i) {
    levels[i] = scale != 0 ? levels_of(group[i] / scale) : Lanes{};
    const Lanes difference = levels[i] * scale - group[i];
    error += difference * difference;
  }
  return sum(error);
}

void pack(const Group& levels, std::byte* packed) {
  for (size_t i = 0; i < kElements; i += 2) {
    auto nibble = [&](size_t at) {
      return static_cast<unsigned>(static_cast<int>(levels[at / kLanes][at % kLanes]) +
                                   kQuantizedZero);
    };
    packed[i / 2] = static_cast<std::byte>(nibble(i) | nibble(i + 1) << 4);
  }
}

}  // namespace

float quantize_group(std::span<const float> elements, DType dtype, std::byte* packed) {
  Group group;
  std::memcpy(group.data(), elements.data(), sizeof group);
  // The first one among equal magnitudes.
  const float x =
      *std::ranges::max_element(elements, {}, [](float element) { return std::fabs(element); });
  const float plain = rounded(x / kLowestLevel, dtype);
  Group levels;
  const float plain_error = quantize(group, plain, levels);
  const float magnitude = std::fabs(x);
  float best = plain;
  if (magnitude > kSmallest && magnitude < kLargest) {
    float most = -1;
    for (int i = 0; i < kTried; ++i) {
      float gain = 0;
      const float scale =
          refit(group, -(kFirstLevel + kLevelStep * static_cast<float>(i)) / x, gain);
      if (gain <= most) continue;
      most = gain;
      best = scale;
    }
    best = rounded(best, dtype);
    Group better;
    // Written such that an infinite scale or error is never better.
    if (std::isfinite(best) && !(quantize(group, best, better) >= plain_error)) {
      levels = better;
    } else {
      best = plain;
    }
  }
  if (std::isfinite(best)) pack(levels, packed);
  return best == 0 ? 0 : best;  // never -0
}

}  // namespace tapml::frontend
