#include "llm/speculation/accept.h"

#include <algorithm>
#include <vector>

namespace tapml::llm {

namespace {

double probability_at(const Candidates& of, size_t index) {
  const double before = index > 0 ? of.sums[index - 1] : 0;
  return (of.sums[index] - before) / of.total();
}

double probability_of(const Candidates& of, int32_t token) {
  const auto found = std::ranges::find(of.tokens, token);
  if (found == of.tokens.end()) return 0;
  return probability_at(of, static_cast<size_t>(found - of.tokens.begin()));
}

// What is left of `wanted` without `taken`; empty if that is nothing.
Candidates rest_of(const Candidates& wanted, const Candidates& taken) {
  const int32_t largest = std::max(std::ranges::max(wanted.tokens), std::ranges::max(taken.tokens));
  std::vector<double> minus(static_cast<size_t>(largest) + 1);
  for (size_t i = 0; i < taken.tokens.size(); ++i) {
    minus[static_cast<size_t>(taken.tokens[i])] = probability_at(taken, i);
  }
  Candidates rest;
  double sum = 0;
  for (size_t i = 0; i < wanted.tokens.size(); ++i) {
    const int32_t token = wanted.tokens[i];
    const double left = probability_at(wanted, i) - minus[static_cast<size_t>(token)];
    if (left <= 0) continue;
    sum += left;
    rest.tokens.push_back(token);
    rest.sums.push_back(sum);
  }
  return rest;
}

}  // namespace

int32_t accept_or_redraw(const Candidates& wanted, const Candidates& drawn_from, int32_t proposed,
                         HostTensor& generator) {
  const double p = probability_of(wanted, proposed), q = probability_of(drawn_from, proposed);
  if (draw_unit(generator) * q < p) return proposed;
  const Candidates rest = rest_of(wanted, drawn_from);
  // Equal distributions leave nothing but rounding errors.
  const double u = draw_unit(generator);
  return rest.tokens.empty() ? wanted.take(u) : rest.take(u);
}

}  // namespace tapml::llm
