// Rows of f64 and seeded tensors, from which the toy models' results are computed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tensor/host_tensor.h"

namespace tapml::testing {

inline HostTensor random_tensor(std::mt19937& random, const Shape& shape, float scale) {
  int64_t size = 1;
  for (const int64_t dim : shape) size *= dim;
  std::vector<float> values;
  for (int64_t i = 0; i < size; ++i) {
    values.push_back(scale * (static_cast<float>(random() % 2001) / 1000 - 1));
  }
  return HostTensor::from<float>(DType::kF32, shape, values);
}

using Row = std::vector<double>;

// Row `index` of a matrix.
inline Row row_of(const HostTensor& matrix, int64_t index) {
  const auto width = static_cast<size_t>(matrix.shape()[1]);
  const auto values = matrix.values<float>().subspan(static_cast<size_t>(index) * width, width);
  return {values.begin(), values.end()};
}

// x times the matrix.
inline Row product(const Row& x, const HostTensor& matrix) {
  Row y(static_cast<size_t>(matrix.shape()[1]), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const Row row = row_of(matrix, static_cast<int64_t>(i));
    for (size_t j = 0; j < y.size(); ++j) y[j] += x[i] * row[j];
  }
  return y;
}

inline double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace tapml::testing
