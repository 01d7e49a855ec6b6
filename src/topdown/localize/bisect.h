// Which of many parts make a whole wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tapml::topdown {

// Whether a whole with these of the parts (ascending numbers) is wrong.
using WrongWith = std::function<bool(const std::vector<size_t>& parts)>;

struct Bisection {
  // Each set is wrong by itself and right without any one of its parts.
  std::vector<std::vector<size_t>> sets;
  int64_t tests = 0;
};

// Finds minimal sets one after the other, in about 2 k log2(count / k) tests for one of k parts
// (QuickXplain: Junker, "Preferred Explanations and Relaxations", AAAI 2004), and leaves each out
// before it looks for the next one, until the rest is right. Each is tested once more by itself:
// those that are right then are only told of where no set is wrong.
Bisection minimal_wrong_sets(size_t count, const WrongWith& wrong);

}  // namespace tapml::topdown
