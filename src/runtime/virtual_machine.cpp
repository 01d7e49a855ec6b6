#include "runtime/virtual_machine.h"

#include "runtime/capture.h"
#include "runtime/dispatch.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::runtime {

Result<std::unique_ptr<VirtualMachine>> open_instrumented(
    Session& session, std::shared_ptr<const Executable> executable) noexcept {
  TAPML_ASSIGN(auto vm, session.open_vm(executable));
  Status can = vm->set_capture({}, nullptr);
  if (can) can = vm->set_dispatch({}, nullptr);
  if (can) can = vm->set_timing(nullptr);
  if (can) return vm;
  if (can.error().fault != PlatformFault::kAbsent) return fail(std::move(can).error());
  return LocalVirtualMachine::create(session, std::move(executable));
}

Result<const Tensor*> result_tensor(const Value& result, std::string_view function,
                                    size_t field) noexcept {
  const Value* value = &result;
  if (const ValueList* fields = result.tuple()) {
    value = field < fields->size() ? &(*fields)[field] : nullptr;
  } else if (field > 0) {
    value = nullptr;
  }
  if (value && value->tensor()) return value->tensor();
  return fail(user_error("the result has no tensor to read", "function " + std::string(function),
                         "a tensor as field " + std::to_string(field), "something else"));
}

Result<VirtualMachine::Read> VirtualMachine::call_and_read(std::string_view function,
                                                           std::span<const Value> args,
                                                           size_t field,
                                                           Deadline deadline) noexcept {
  Read read;
  TAPML_ASSIGN(read.result, call(function, args, deadline));
  TAPML_ASSIGN(const Tensor* tensor, result_tensor(read.result, function, field));
  TAPML_ASSIGN(read.bytes, download(*tensor, kDefaultStream, deadline));
  return read;
}

}  // namespace tapml::runtime
