// Where kernels under test run: in a separate process, or in this one.
#pragma once

#include "app/isolation.h"
#include "session.h"

namespace tapml::python {

// The settings from Python code.
struct UnderTest {
  bool in_process = false;
  double kernel_timeout = 30;  // limit in seconds of a kernel call in a separate process
};

// The command that starts such processes: this Python with this module. UserError for an invalid
// time, and if the Python program is unknown.
app::IsolationOptions isolation_of(const UnderTest& settings, const char* where);

}  // namespace tapml::python
