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

}  // namespace tapml::python
