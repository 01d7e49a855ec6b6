// Compiled modules, before and after they are on a device.
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

// What compile() and load() return.
struct Compiled {
  std::shared_ptr<const Executable> executable;
  Module fixed;  // what it was made of, its kernels formed
  ModelSource source;
  SessionRef open;  // that it was compiled for; null where only the target was given
};

// A machine with what it needs, and the order of those who call it.
struct SharedVm {
  std::shared_ptr<runtime::Session> session;
  std::unique_ptr<app::ContainedKernels> contained;  // null: all kernels run on the session
  std::unique_ptr<runtime::VirtualMachine> vm;       // goes first
  std::timed_mutex busy;

  // Waits until no other thread calls the machine. Ctrl-C ends the wait. Not with the interpreter
  // locked.
  std::unique_lock<std::timed_mutex> lock();
};

// Everything that compile() of Python takes beside the module.
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

// Not with the interpreter locked. `open` may be null.
std::unique_ptr<Compiled> compile(const Module& module, const target::Target& target,
                                  const CompileSettings& settings, SessionRef open);

// The session that an executable goes to: `device`, or the one it was compiled for. UserError for
// none, and for a device of another platform.
SessionRef session_for(const Compiled& compiled, const py::object& device, const char* where);

}  // namespace tapml::python
