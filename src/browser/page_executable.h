// An executable in a web page, without a model's package around it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "exec/executable_file.h"
#include "io/json.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::browser {

// read() comes before open(); an InternalError otherwise.
class PageExecutable {
 public:
  // Reads a file, and returns its target. UserError for files of another form.
  Result<Json> read(std::span<const std::byte> file);
  // Opens the device that the executable was made for and loads its kernels. Returns the device,
  // functions and kernels. Errors of the device, and as LocalVirtualMachine::create().
  Result<Json> open();
  // Null before open().
  runtime::LocalVirtualMachine* machine() const { return machine_.get(); }

 private:
  std::vector<std::byte> bytes_;  // the constants are views of them
  std::optional<ExecutableFile> file_;
  std::unique_ptr<runtime::LocalSession> session_;
  std::unique_ptr<runtime::LocalVirtualMachine> machine_;
};

}  // namespace tapml::browser
