#include "topdown/reference_run/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapml::topdown {

double log_sum_exp(std::span<const double> values) {
  const double peak = *std::ranges::max_element(values);
  double sum = 0;
  for (const double value : values) sum += std::exp(value - peak);
  return peak + std::log(sum);
}

double divergence(std::span<const double> reference, std::span<const double> other) {
  const double p_scale = log_sum_exp(reference), q_scale = log_sum_exp(other);
  double sum = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double log_p = reference[i] - p_scale, p = std::exp(log_p);
    if (p > 0) sum += p * (log_p - (other[i] - q_scale));
  }
  if (std::isnan(sum)) return std::numeric_limits<double>::infinity();
  return std::max(sum, 0.0);  // rounding alone makes it negative
}

}  // namespace tapml::topdown
