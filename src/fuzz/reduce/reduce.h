// Makes a failing program smaller as long as it fails in the same way.
#pragma once

#include <functional>
#include <optional>

#include "fuzz/oracles/problem.h"
#include "fuzz/program.h"
#include "fuzz/relax_calls.h"

namespace tapml::fuzz {

struct ReduceOptions {
  // The problem of a candidate in the variant of `problem`; none if it has none or is not valid.
  std::function<std::optional<Problem>(const Program& candidate, const Problem& problem)> check;
  double seconds = 20;              // the result is the smallest program found by then
  std::function<bool()> cancelled;  // may be empty; ends the reduction like the time limit
};

struct Reduced {
  Program program;
  Problem problem;          // in the simplest variant
  int tried = 0, kept = 0;  // candidates
  int operators = 0;        // bindings of the program's functions that are calls
};

// Fewer outputs, bindings, parameters and functions, operands in place of calls, values in place of
// what computes them, smaller dimensions, simpler elements; again until nothing changes. First the
// way in which the program is compiled becomes simpler (Variant::simpler()). The signature of
// `problem`, which is that of the given program, stays the same except for the variant.
Reduced reduce(const Program& program, const Problem& problem, const ReduceOptions& options);

}  // namespace tapml::fuzz
