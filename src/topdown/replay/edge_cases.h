// Edge cases in addition to real data: values and sizes that platforms get wrong and few runs have.
#pragma once

#include <string>
#include <vector>

#include "topdown/runner/sandbox.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

inline constexpr const char* kEdgeFunction = "edge";  // SuiteCall::function of added calls

struct EdgeCases {
  int64_t added = 0;
  // Cases that the source itself computes outside its bound: "softmax_485247dc, values of x: error
  // 3.00e-02, allowed 1.00e-06".
  std::vector<std::string> unsupported;
};

// Adds calls to the suite, each derived from a carved call of its kernel and run on `source`, which
// has the suite's kernels:
// - values: every third element of one float input comes from a table of extremes (signed zero,
//   points where exp and tanh saturate, 1031 and 1035, the limits of f16), in as many calls as the
//   table needs, and once in its last row alone;
// - choices (below);
// - indices at both ends of what they index, and texts whose tokens begin and end at the borders of
//   pages, with the cache before the call (topdown/replay/case_inputs.h);
// - sizes: one symbolic size is 1, 2, 3, 17, 63, 64, 65, the largest carved one, or the context,
//   and inputs repeat carved elements; not for kernels with integers of unknown meaning.
// Inputs above 4 MiB stay unchanged. Throws as Sandbox does; `poll` is called between calls, and
// `watcher` receives the number of kernels done.
EdgeCases add_edge_cases(Suite& suite, Sandbox& source, const std::function<void()>& poll = {},
                         const WorkWatcher& watcher = {});

// Whether the kernel chooses among its input's elements (argmax, topk, sort), so that a wrong
// choice shows only where elements are nearly equal or at the ends of a row.
bool makes_choice(const SuiteKernel& kernel);
// The same for these kernels alone, except those that choose tokens, which carving a mixed batch
// tests: float inputs that are no weights get the rows of llm::made_logits().
EdgeCases add_choice_cases(Suite& suite, Sandbox& source, const std::function<void()>& poll = {});

}  // namespace tapml::topdown
