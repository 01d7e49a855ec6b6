// The discrete Fourier transform of a length that is a product of small primes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tapml::audio {

class Fourier {
 public:
  // `length` is at least 1.
  explicit Fourier(size_t length);

  // Squares of the magnitudes of coefficients 0 to length / 2 of `values`, `length` real numbers.
  void power(std::span<const double> values, std::span<double> squares);

 private:
  struct Complex {
    double real = 0, imaginary = 0;
  };
  // The transform of every `stride`-th of values_ from `first` on, as result_[at, at + length).
  void transform(size_t first, size_t stride, size_t length, size_t at);

  std::vector<Complex> roots_;  // exp(-2 pi i k / length)
  std::span<const double> values_;
  std::vector<Complex> result_, column_;
};

// The largest prime factor of a number, at least 2: the transform takes as many steps for each
// element and factor.
size_t largest_factor(size_t number);

}  // namespace tapml::audio
