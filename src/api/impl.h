// What stands behind the names of the C interface. Private to api/.
#pragma once

#include <tapml/tapml.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

struct tapml_session {
  std::unique_ptr<tapml::runtime::LocalSession> session;
  tapml::runtime::HostFunctions functions;  // registered
};

struct tapml_program {
  std::shared_ptr<const tapml::Executable> executable;
  std::unique_ptr<tapml::runtime::LocalVirtualMachine> vm;
};

struct tapml_value {
  tapml::runtime::Value value;
  // Of a value that is or holds a function: the executable that it belongs to.
  std::shared_ptr<const tapml::Executable> owner;
  // What was looked at.
  tapml::Shape dims;
  std::optional<tapml::HostTensor> host;
  tapml_tensor view{};
  std::vector<std::unique_ptr<tapml_value>> fields;
};

namespace tapml::api {

// Keeps the message and returns the status of the error.
tapml_status failed(const Error& error);
tapml_status missing(const char* what);
// The error behind a status that an application's function returned.
Error host_error(tapml_status status);

// UserError for an executable of another platform than the session's. `source` names it.
Status check_platform(const Executable& executable, const runtime::Session& session,
                      const std::string& source);

Result<runtime::Tensor> upload(runtime::Session& session, const tapml_tensor& tensor,
                               const std::string& where);

// With its fields, which show what the tuple holds.
std::unique_ptr<tapml_value> wrap(runtime::Value value, std::shared_ptr<const Executable> owner);

}  // namespace tapml::api
