// Finds the parts that make a whole wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tapml::topdown {

// Whether a whole with these parts (ascending numbers) is wrong.
using WrongWith = std::function<bool(const std::vector<size_t>& parts)>;

struct Bisection {
  // Each set alone is wrong, and right without any one of its parts.
  std::vector<std::vector<size_t>> sets;
  int64_t tests = 0;
};

// Finds minimal sets one after the other, in about 2 k log2(count / k) tests for one of k parts
// (QuickXplain: Junker, "Preferred Explanations and Relaxations", AAAI 2004), and removes each
// before it looks for the next one, until the rest is right. Tests each set once more alone; the
// sets that are right then are only reported if no set is wrong.
Bisection minimal_wrong_sets(size_t count, const WrongWith& wrong);

}  // namespace tapml::topdown
