// The calls of a kernel, by where in the model they come from.
#pragma once

#include <string>
#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Carved calls from one function of the model and the same layers.
struct CallGroup {
  std::string function;  // "prefill", ...
  Origin origin;
  int64_t sequence = 0;  // of the first, in the run
  int64_t calls = 0;     // carved ones
  int64_t compared = 0;  // of these
  double ratio = 0;  // the largest error over bound of those; infinity for NaN where none belongs
};

// Of `kernel`, in the order of their first calls; none is judged.
std::vector<CallGroup> call_groups(const Suite& suite, int32_t kernel);
// The one that `call` belongs to; it is added where there is none.
CallGroup& group_of(std::vector<CallGroup>& groups, const SuiteCall& call);

}  // namespace tapml::topdown
