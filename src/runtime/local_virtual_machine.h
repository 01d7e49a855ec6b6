// The virtual machine: runs an executable's functions on one session.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/call_point.h"
#include "runtime/virtual_machine.h"

namespace tapml::runtime {

// The implementation of a packed call on the host. Arguments and result are VM values; tensors are
// on the VM's session, where their bytes may still be pending (download() waits). Must not throw,
// and must not call the VM that calls it.
using HostFunction = std::function<Result<Value>(Session&, std::span<const Value>)>;
using HostFunctions = std::map<std::string, HostFunction>;  // by the name of the call

class LocalVirtualMachine final : public VirtualMachine {
 public:
  // The UserError names the first packed function of the executable that `functions` lacks.
  static Result<std::unique_ptr<LocalVirtualMachine>> create(
      Session& session, std::shared_ptr<const Executable> executable, HostFunctions functions = {},
      Deadline deadline = {}) noexcept;
  ~LocalVirtualMachine() override;

  Result<Value> call(std::string_view function, std::span<const Value> args,
                     Deadline deadline = {}) noexcept override;
  void set_interrupt(const std::atomic<bool>* flag) noexcept override;
  void set_call_limit(int64_t calls) noexcept override;
  // Replaces the call point's observer.
  Status set_capture(const CapturePlan& plan, CaptureSink* sink) noexcept override;
  Status set_timing(TimingSink* sink) noexcept override;
  Status set_dispatch(const DispatchPlan& plan, Dispatcher* dispatcher) noexcept override;
  // The deadline of the current run, for a dispatcher whose calls may take time elsewhere.
  void set_deadline(const Deadline& deadline);

  Session& session() const noexcept override;
  const Executable& executable() const noexcept override;
  CallPoint& call_point() const;
  const std::vector<CallSite>& call_sites() const;
  // Peak bytes of storage that the VM has held.
  int64_t peak_bytes() const;

 private:
  LocalVirtualMachine();
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::runtime
