// Where kernels under test run: in a process of their own, or in this one.
#pragma once

#include "app/isolation.h"
#include "session.h"

namespace tapml::python {

// As Python code gives it.
struct UnderTest {
  bool in_process = false;
  double kernel_timeout = 30;  // seconds that a kernel call may take in a process of its own
};

// What starts such processes: this Python with this module. UserError for a time that is none, and
// where nobody knows which program Python is.
app::IsolationOptions isolation_of(const UnderTest& settings, const char* where);

// The platform of a session for kernels under test: `session` itself, which then outlives it, or
// others like it, each in a process of its own. Not with the interpreter locked.
topdown::Platform platform_under_test(const OpenSession& open, runtime::Session& session,
                                      const app::IsolationOptions& isolation);
// The same for kernels that are trusted, but whose inputs are not.
topdown::Platform trusted_platform(const OpenSession& open, runtime::Session& session,
                                   const app::IsolationOptions& isolation);

}  // namespace tapml::python
