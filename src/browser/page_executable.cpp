#include "browser/page_executable.h"

#include "browser/page_calls.h"
#include "browser/page_device.h"

namespace tapml::browser {

Result<Json> PageExecutable::read(std::span<const std::byte> file) {
  bytes_.assign(file.begin(), file.end());
  TAPML_ASSIGN(file_, read_executable(bytes_, nullptr, "executable"));
  return Json::object({{"target", Json::string(file_->executable.target)}});
}

Result<Json> PageExecutable::open() {
  if (!file_) return fail(internal_error("no executable was read"));
  TAPML_ASSIGN(session_, open_session(file_->executable.target, [] {}));
  TAPML_ASSIGN(machine_,
               runtime::LocalVirtualMachine::create(
                   *session_, std::make_shared<const Executable>(std::move(file_->executable))));
  file_.reset();
  const Executable& executable = machine_->executable();
  return Json::object({
      {"target", Json::string(executable.target)},
      {"device", device_json(session_->info())},
      {"functions", functions_json(executable)},
      {"kernels", kernels_json(executable)},
  });
}

}  // namespace tapml::browser
