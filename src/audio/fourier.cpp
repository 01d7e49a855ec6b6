#include "audio/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tapml::audio {

namespace {

size_t smallest_factor(size_t number) {
  for (size_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return factor;
  }
  return number;
}

}  // namespace

size_t largest_factor(size_t number) {
  size_t largest = 1;
  while (number > 1) {
    largest = std::max(largest, smallest_factor(number));
    number /= smallest_factor(number);
  }
  return largest;
}

Fourier::Fourier(size_t length) : result_(length), column_(largest_factor(length)) {
  for (size_t k = 0; k < length; ++k) {
    const double angle =
        -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots_.push_back({std::cos(angle), std::sin(angle)});
  }
}

// Cooley and Tukey 1965: the transforms of `factor` parts, then sums over these.
void Fourier::transform(size_t first, size_t stride, size_t length, size_t at) {
  if (length == 1) {
    result_[at] = {values_[first], 0};
    return;
  }
  const size_t factor = smallest_factor(length), part = length / factor;
  for (size_t r = 0; r < factor; ++r)
    transform(first + r * stride, stride * factor, part, at + r * part);
  const size_t all = roots_.size(), step = all / length;
  for (size_t k = 0; k < part; ++k) {
    for (size_t r = 0; r < factor; ++r) column_[r] = result_[at + r * part + k];
    for (size_t q = 0; q < factor; ++q) {
      const size_t turn = (q * part + k) * step;  // below `all`
      Complex sum = column_[0];
      size_t root = turn;
      for (size_t r = 1; r < factor; ++r) {
        const Complex &x = column_[r], &w = roots_[root];
        sum.real += x.real * w.real - x.imaginary * w.imaginary;
        sum.imaginary += x.real * w.imaginary + x.imaginary * w.real;
        root += turn;
        if (root >= all) root -= all;
      }
      result_[at + q * part + k] = sum;
    }
  }
}

void Fourier::power(std::span<const double> values, std::span<double> squares) {
  values_ = values;
  transform(0, 1, values.size(), 0);
  for (size_t k = 0; k < squares.size(); ++k) {
    const Complex& x = result_[k];
    squares[k] = x.real * x.real + x.imaginary * x.imaginary;
  }
}

}  // namespace tapml::audio
