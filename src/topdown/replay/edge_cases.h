// Edge cases beside real data: values and sizes that platforms get wrong, and that few runs have.
#pragma once

#include <string>
#include <vector>

#include "topdown/runner/sandbox.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

inline constexpr const char* kEdgeFunction = "edge";  // SuiteCall::function of what is added

struct EdgeCases {
  int64_t added = 0;
  // What the source itself does not compute within its bound: "softmax_485247dc, values of x: error
  // 3.00e-02, allowed 1.00e-06".
  std::vector<std::string> unsupported;
};

// Adds calls to the suite, each made of a carved call of its kernel and run on `source`, which has
// the suite's kernels:
// - values: every third element of one input of floats is taken from a table of extremes (signed
//   zero, where exp and tanh saturate, 1031 and 1035, the ends of f16), in as many calls as the
//   table takes;
// - sizes: one symbolic size is 1, 2, 3, 17, 63, 64 or 65, and inputs repeat what was carved; of
//   kernels that read floats alone, since integers have a meaning (tokens, pages).
// Inputs above 4 MiB stay as they are. Throws as Sandbox does; `poll` is called between calls, and
// `watcher` is reported how many kernels have theirs.
EdgeCases add_edge_cases(Suite& suite, Sandbox& source, const std::function<void()>& poll = {},
                         const WorkWatcher& watcher = {});

}  // namespace tapml::topdown
