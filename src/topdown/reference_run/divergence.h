// How far two distributions over tokens are apart.
#pragma once

#include <span>

namespace tapml::topdown {

// log(sum(exp(values))); `values` is not empty.
double log_sum_exp(std::span<const double> values);

// Kullback-Leibler divergence in nats of distribution `other` from `reference`, both as logits: the
// sum of p (log p - log q). Infinite where one of them is no distribution.
double divergence(std::span<const double> reference, std::span<const double> other);

}  // namespace tapml::topdown
