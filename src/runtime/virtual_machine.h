// What runs the functions of an executable: the virtual machine of this process, or one beside a
// remote device.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string_view>

#include "runtime/value.h"

namespace tapml::runtime {

struct CapturePlan;  // capture.h
class CaptureSink;
struct DispatchPlan;  // dispatch.h
class Dispatcher;
class TimingSink;  // timing.h

// Not for use from several threads at once.
class VirtualMachine {
 public:
  virtual ~VirtualMachine() = default;
  // Calls a function of the executable. Arguments are checked against its signature: a UserError
  // names function, parameter, dimension, the expected expression with its value, and what came.
  // Errors of a run say in `where` which functions and bindings were in progress, innermost first.
  // Only enqueues; the result's bytes are there once they are read (download).
  // A run whose deadline passes ends with kTimeout, between two kernels. What it wrote into its
  // arguments by then stays.
  virtual Result<Value> call(std::string_view function, std::span<const Value> args,
                             Deadline deadline = {}) noexcept = 0;
  // The same, and the bytes of a tensor of the result: field `field` of a tuple, or the result
  // itself. Waits for them; a machine far away sends them with the result.
  struct Read {
    Value result;
    HostTensor bytes;
  };
  virtual Result<Read> call_and_read(std::string_view function, std::span<const Value> args,
                                     size_t field, Deadline deadline = {}) noexcept;
  // Calls end with kCancelled once the flag is set; null: never. It must outlive the machine.
  virtual void set_interrupt(const std::atomic<bool>* flag) noexcept = 0;
  // A call ends with kLimit where functions of the executable are called more often than that,
  // every iteration of a loop included; 0: never. The error says which function and binding were in
  // progress.
  virtual void set_call_limit(int64_t calls) noexcept = 0;
  // From now on `sink` is given what calls read and write, as the plan says, before they return;
  // null: no more. It must outlive that. UserError as of check_plan(); kAbsent where the other side
  // of a remote machine cannot, whatever the sink.
  virtual Status set_capture(const CapturePlan& plan, CaptureSink* sink) noexcept = 0;
  // From now on calls at the plan's sites are `dispatcher`'s, who is given their tensors on this
  // session; null: none are. It must outlive that, and keeps none of them beyond a run. UserError
  // as of dispatched_sites(); kAbsent where the other side of a remote machine cannot, whatever the
  // plan.
  virtual Status set_dispatch(const DispatchPlan& plan, Dispatcher* dispatcher) noexcept = 0;
  // From now on `sink` is reported how long each call took, before the run returns; null: no more.
  // It takes the place of set_capture(), and the other way round. It must outlive that. kAbsent
  // where the other side of a remote machine cannot, whatever the sink.
  virtual Status set_timing(TimingSink* sink) noexcept = 0;
  // Called now and then by a thread that waits for a call, with the number of kernel calls that it
  // has launched so far; empty: never. A VM of this process ignores it: its call point has
  // observers.
  using CallWatcher = std::function<void(int64_t launched)>;
  virtual void set_call_watcher(CallWatcher watcher) noexcept { static_cast<void>(watcher); }
  virtual Session& session() const noexcept = 0;
  virtual const Executable& executable() const noexcept = 0;
};

// A machine of the executable whose calls can be captured, dispatched and timed: the session's own,
// or one on this side where that is remote and cannot.
Result<std::unique_ptr<VirtualMachine>> open_instrumented(
    Session& session, std::shared_ptr<const Executable> executable,
    Deadline deadline = {}) noexcept;

// Field `field` of a tuple, or a result that is a tensor itself (field 0). UserError for another.
Result<const Tensor*> result_tensor(const Value& result, std::string_view function,
                                    size_t field) noexcept;

}  // namespace tapml::runtime
