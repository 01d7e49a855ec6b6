// The types behind the names of the C interface. Private to api/.
#pragma once

#include <tapml/tapml.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

struct tapml_session {
  std::unique_ptr<tapml::runtime::LocalSession> session;
  tapml::runtime::HostFunctions functions;  // registered by the application
};

struct tapml_program {
  std::shared_ptr<const tapml::Executable> executable;
  std::unique_ptr<tapml::runtime::LocalVirtualMachine> vm;
};

struct tapml_value {
  tapml::runtime::Value value;
  // For a value that is or holds a function: the executable that the function belongs to.
  std::shared_ptr<const tapml::Executable> owner;
  // Caches for what the application reads.
  tapml::Shape dims;
  std::optional<tapml::HostTensor> host;
  tapml_tensor view{};
  std::vector<std::unique_ptr<tapml_value>> fields;
};

namespace tapml::api {

// Keeps the message and returns the status of the error.
tapml_status failed(const Error& error);
tapml_status missing(const char* what);
// The error for a status that an application's function returned.
Error host_error(tapml_status status);

// UserError for an executable of another platform than the session's. `source` names it in errors.
Status check_platform(const Executable& executable, const runtime::Session& session,
                      const std::string& source);

// A view of the application's memory. UserError for a malformed structure; `where` names it.
Result<HostTensor> view_of(const tapml_tensor& tensor, const std::string& where);
Result<runtime::Tensor> upload(runtime::Session& session, const tapml_tensor& tensor,
                               const std::string& where);

// Calls `run`, which returns a status; if memory for its containers runs out, that is a platform
// error.
template <class Run>
tapml_status guarded(const char* where, Run&& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return failed(platform_error(PlatformFault::kOutOfMemory, "there is not enough memory", where));
  }
}

// Also wraps the fields of a tuple, so that the application can read them.
std::unique_ptr<tapml_value> wrap(runtime::Value value, std::shared_ptr<const Executable> owner);

}  // namespace tapml::api
