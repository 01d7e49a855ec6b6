#include "runtime/machine.h"

#include "runtime/capture.h"
#include "runtime/dispatch.h"
#include "runtime/vm.h"

namespace tapml::runtime {

Result<std::unique_ptr<Machine>> open_instrumented(Session& session,
                                                   std::shared_ptr<const Executable> executable,
                                                   Deadline deadline) noexcept {
  TAPML_ASSIGN(auto machine, session.open_machine(executable, deadline));
  Status can = machine->set_capture({}, nullptr);
  if (can) can = machine->set_dispatch({}, nullptr);
  if (can) can = machine->set_timing(nullptr);
  if (can) return machine;
  if (can.error().fault != PlatformFault::kAbsent) return fail(std::move(can).error());
  return VirtualMachine::create(session, std::move(executable), {}, deadline);
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

Result<Machine::Read> Machine::call_and_read(std::string_view function, std::span<const Value> args,
                                             size_t field, Deadline deadline) noexcept {
  Read read;
  TAPML_ASSIGN(read.result, call(function, args, deadline));
  TAPML_ASSIGN(const Tensor* tensor, result_tensor(read.result, function, field));
  TAPML_ASSIGN(read.bytes, download(*tensor, kDefaultStream, deadline));
  return read;
}

}  // namespace tapml::runtime
