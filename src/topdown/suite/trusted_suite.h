// Tests of a carved run against values of a trusted source that is not a platform of tapml.
#pragma once

#include <vector>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// A value of the source for a tensor that a call of the run reads or writes.
struct TrustedTensor {
  CallParameter place;  // `call` is an index into the carved suite
  HostTensor tensor;    // of the carved dtype and shape
  std::string name;     // of the value, in the source's words
};

// Calls between values that the source knows. Inputs that are neither such a value nor a link keep
// their carved contents: weights, page tables, caches.
struct TrustedCalls {
  std::vector<size_t> calls;  // in the order in which they run
  std::vector<TrustedTensor> inputs;
  std::vector<SuiteLink> links;  // between calls of the carved suite
  std::vector<TrustedTensor> outputs;
};

// The position of a test: in a suite's groups or in its calls.
struct TestTensor {
  bool group = false;
  size_t index = 0;
};

struct TrustedSuite {
  Suite suite;                    // of `source`
  std::vector<TestTensor> tests;  // one per given test; equal ones share a test
};

// A single call with all outputs known becomes a test like a carved one; all others become groups.
// UserError for calls and parameters that do not exist, tensors of other shapes or dtypes, links
// that run backwards, and groups without a known output.
TrustedSuite trusted_suite(const Suite& carved, const std::vector<TrustedCalls>& tests,
                           const std::string& source);

}  // namespace tapml::topdown
