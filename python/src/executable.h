// Compiled modules, before and after upload to a device.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "app/contained_kernels.h"
#include "app/executable.h"
#include "pipeline/compile.h"
#include "runtime/virtual_machine.h"
#include "session.h"

namespace tapml::python {

// The result of compile() and load().
struct Compiled {
  std::shared_ptr<const Executable> executable;
  Module fixed;  // the source module with its kernels formed
  ModelSource source;
  SessionRef open;  // the session it was compiled for; null if only the target was given
};

// A VM with everything it needs, and a lock for its callers.
struct SharedVm {
  std::shared_ptr<runtime::Session> session;
  std::unique_ptr<app::ContainedKernels> contained;  // null: all kernels run on the session
  std::unique_ptr<runtime::VirtualMachine> vm;       // destroyed first
  std::timed_mutex busy;

  // Waits until no other thread calls the VM. Ctrl-C ends the wait. Call without the GIL.
  std::unique_lock<std::timed_mutex> lock();
};

// The arguments of Python's compile() other than the module.
struct CompileSettings {
  bool cache = true;
  bool verify = false;
  std::string dump;
  std::vector<std::string> skip;
  std::map<std::string, int64_t> bounds;
  std::vector<std::string> libraries;
  std::string patterns;
  std::vector<pipeline::AddedPass> added = {};
};

// Call without the GIL. `open` may be null.
std::unique_ptr<Compiled> compile(const Module& module, const target::Target& target,
                                  const CompileSettings& settings, SessionRef open);

// The session that receives an executable: `device`, or the one it was compiled for. UserError if
// there is none, and for a device of another platform.
SessionRef session_for(const Compiled& compiled, const py::object& device, const char* where);

}  // namespace tapml::python
