// Scales and minimums of a group of elements, by weighted least squares. Private to the quantizers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tapml::gguf_fit {

// The nearest integer, ties to even, of a number below 2^22; without a call, so that loops become
// vectors.
inline float nearest(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
  return (x + kShift) - kShift;
}

// The nearest level of a range.
inline float level_of(float x, float least, float most) {
  return nearest(std::min(std::max(x, least), most));
}

template <size_t N>
using Group = std::array<float, N>;

// Large elements matter more to products than small ones, but all of them count.
template <size_t N>
Group<N> weights_of(const float* x) {
  float sum = 0;
  for (size_t i = 0; i < N; ++i) sum += x[i] * x[i];
  const float typical = std::sqrt(sum / static_cast<float>(N));
  Group<N> weights;
  for (size_t i = 0; i < N; ++i) weights[i] = typical + std::fabs(x[i]);
  return weights;
}

// The element with the largest magnitude.
template <size_t N>
float extreme_of(const float* x) {
  float extreme = 0;
  for (size_t i = 0; i < N; ++i) {
    if (std::fabs(x[i]) > std::fabs(extreme)) extreme = x[i];
  }
  return extreme;
}

// The scale, of either sign, whose multiples by integers from -bound to bound - 1 are nearest to
// `x`. The extreme element is near the lower bound, which has no counterpart.
template <size_t N>
float fit_scale(const float* x, const Group<N>& weights, float bound) {
  constexpr int kTried = 9;  // to either side
  const float extreme = extreme_of<N>(x);
  if (extreme == 0) return 0;
  float best = 0, best_gain = 0;
  for (int step = -kTried; step <= kTried; ++step) {
    const float inverse = -(bound + 0.1f * static_cast<float>(step)) / extreme;
    float product = 0, square = 0;
    for (size_t i = 0; i < N; ++i) {
      const float level = level_of(x[i] * inverse, -bound, bound - 1);
      product += weights[i] * x[i] * level;
      square += weights[i] * level * level;
    }
    // The error of the best scale for these levels is the sum of w x^2 minus this.
    const float gain = square > 0 ? product * product / square : 0;
    if (gain > best_gain) {
      best_gain = gain;
      best = product / square;
    }
  }
  return best;
}

struct Affine {
  float scale = 0, minimum = 0;
};

// The scale, at least 0, and minimum for levels from 0 to `most`. With `below_zero` the minimum is
// at most 0.
template <size_t N>
Affine fit_affine(const float* x, const Group<N>& weights, float most, bool below_zero) {
  constexpr int kTried = 20;
  const auto [low, high] = std::minmax_element(x, x + N);
  const float least = below_zero ? std::min(*low, 0.0f) : *low;
  const float range = *high - least;
  if (!(range > 0)) return {0, least};
  float weight = 0, sum = 0;
  for (size_t i = 0; i < N; ++i) {
    weight += weights[i];
    sum += weights[i] * x[i];
  }
  Affine best;
  float best_error = INFINITY;
  for (int step = 0; step <= kTried; ++step) {
    const float inverse = (most - 1 + 0.1f * static_cast<float>(step)) / range;
    float level_sum = 0, square = 0, product = 0;
    for (size_t i = 0; i < N; ++i) {
      const float level = level_of((x[i] - least) * inverse, 0, most);
      level_sum += weights[i] * level;
      square += weights[i] * level * level;
      product += weights[i] * level * x[i];
    }
    const float determinant = weight * square - level_sum * level_sum;
    if (!(determinant > 0)) continue;
    Affine tried{(weight * product - level_sum * sum) / determinant,
                 (square * sum - level_sum * product) / determinant};
    if (below_zero && tried.minimum > 0) tried = {product / square, 0};
    float error = 0;
    for (size_t i = 0; i < N; ++i) {
      const float level = level_of((x[i] - least) * inverse, 0, most);
      const float difference = tried.scale * level + tried.minimum - x[i];
      error += weights[i] * difference * difference;
    }
    if (error < best_error && tried.scale > 0) {
      best_error = error;
      best = tried;
    }
  }
  return best_error < INFINITY ? best : Affine{range / most, least};
}

}  // namespace tapml::gguf_fit
