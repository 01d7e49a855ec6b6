#include "topdown/results/carve_summary.h"

#include <algorithm>

namespace tapml::topdown {

CarveSummary carve_summary(const Suite& suite, const std::string& folder) {
  CarveSummary summary;
  summary.suite = folder;
  summary.kernels = std::ssize(suite.kernels);
  summary.calls = std::ssize(suite.calls);
  summary.added = std::ranges::count(suite.calls, true, &SuiteCall::added);
  summary.weights = std::ssize(suite.weights);
  for (const SuiteKernel& kernel : suite.kernels) summary.dropped += kernel.dropped;
  summary.incomplete = suite.incomplete;
  summary.untested = suite.untested;
  return summary;
}

}  // namespace tapml::topdown
