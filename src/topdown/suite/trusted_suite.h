// Tests of what a trusted source, which is no platform of tapml, says of a run that was carved.
#pragma once

#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// A tensor that the source has where a call of the run reads or writes one.
struct TrustedTensor {
  CallParameter place;  // `call` is one of the carved suite's
  HostTensor tensor;    // of the dtype and shape that was carved there
  std::string name;     // of the border, in the source's words
};

// Calls between borders that the source knows. What they read at no border and by no link is as
// carved: weights, page tables, caches.
struct TrustedCalls {
  std::vector<size_t> calls;  // in the order in which they run
  std::vector<TrustedTensor> inputs;
  std::vector<SuiteLink> links;  // between calls of the carved suite
  std::vector<TrustedTensor> outputs;
};

// Where a test is: in a suite's groups or in its calls.
struct TestTensor {
  bool group = false;
  size_t index = 0;
};

struct TrustedSuite {
  Suite suite;                    // of `source`
  std::vector<TestTensor> tests;  // one for each of the given; equal ones are one test
};

// One call all of whose outputs the source has is a test like carved ones; all else are groups.
// UserError for calls and parameters that are not there, tensors of other forms, links that run
// backwards, and groups that nothing is known to come out of.
TrustedSuite trusted_suite(const Suite& carved, const std::vector<TrustedCalls>& tests,
                           const std::string& source);

}  // namespace tapml::topdown
