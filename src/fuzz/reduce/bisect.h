// Finds the pass that makes a program fail.
#pragma once

#include <string>

#include "fuzz/oracles/oracles.h"
#include "fuzz/oracles/problem.h"
#include "fuzz/program.h"

namespace tapml::fuzz {

struct Bisection {
  std::string pass;           // of pipeline::pass_table(), or "code generation"; empty: unknown
  std::string reason;         // what was seen
  std::string before, after;  // the module around it, as text; empty if no module differs
};

// For wrong values, the first pass whose module computes other values on the reference evaluator:
// the prefixes of the pipeline, from the first pass to the last whose result can be interpreted; if
// none differs, the code. For other problems, the pass that ran. For a crash or a hang, the pass is
// unknown: the process that ran it cannot tell.
Bisection bisect(const Program& program, const Problem& problem, const OracleOptions& options);

}  // namespace tapml::fuzz
