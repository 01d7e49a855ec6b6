// The distance between two distributions over tokens.
#pragma once

#include <span>

namespace tapml::topdown {

// log(sum(exp(values))); `values` is not empty.
double log_sum_exp(std::span<const double> values);

// Kullback-Leibler divergence in nats of distribution `other` from `reference`, both as logits: the
// sum of p (log p - log q). Infinite if one of them is not a distribution.
double divergence(std::span<const double> reference, std::span<const double> other);

}  // namespace tapml::topdown
