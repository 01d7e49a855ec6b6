// References of op/reduction.cpp and op/statistics.cpp.
#pragma once

#include "op/reference/elementwise.h"

namespace tapml::op::reference {

Rule sum, mean, prod, max, min, any, all;
Rule argmax, argmin, variance, logsumexp;

// The elements of a reduction.
struct Sample {
  std::vector<double> values;
  std::vector<Error> errors;

  void add(const RefTensor& x, size_t i) {
    values.push_back(x.values[i]);
    errors.push_back(error_of(x, i));
  }
};

// The arithmetic of moments: the round-off of its type, and the error factor of its divisions.
struct Arithmetic {
  double unit, division;
};

// Mean of a sample and 1 / n of the sum of squared deviations.
struct Moments {
  Element mean, variance;
};
Moments moments_of(const Sample& sample, Arithmetic arithmetic, double correction = 0);

// log(sum exp(x)) of a sample, as its largest element plus the logarithm of the sum of exp(x -
// peak), kept separate because adding a large peak would lose the logarithm. `moved` is the effect
// of the elements' own errors; `error` is the rounding error of the logarithm.
struct LogSum {
  double peak, log_total;
  Error moved, error;
};
LogSum log_sum_of(const Sample& sample, double unit);

}  // namespace tapml::op::reference
