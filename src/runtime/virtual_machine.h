// Runs the functions of an executable: a local virtual machine, or one beside a remote device.
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

// Not thread-safe.
class VirtualMachine {
 public:
  virtual ~VirtualMachine() = default;
  // Calls a function of the executable. Arguments are checked against its signature: a UserError
  // names function, parameter, dimension, the expected expression with its value, and the found
  // value. Errors of a run list in `where` the functions and bindings in progress, innermost first.
  // Only enqueues; the result's bytes are available once they are read (download). A run whose
  // deadline passes ends with kTimeout, between two kernels; its writes to its arguments remain.
  virtual Result<Value> call(std::string_view function, std::span<const Value> args,
                             Deadline deadline = {}) noexcept = 0;
  // The same, and the bytes of a tensor of the result: field `field` of a tuple, or the result
  // itself. Waits for them; a remote VM sends them with the result.
  struct Read {
    Value result;
    HostTensor bytes;
  };
  virtual Result<Read> call_and_read(std::string_view function, std::span<const Value> args,
                                     size_t field, Deadline deadline = {}) noexcept;
  // Calls end with kCancelled once the flag is set; null: never. It must outlive the VM.
  virtual void set_interrupt(const std::atomic<bool>* flag) noexcept = 0;
  // Limits the number of function calls in a run, including every iteration of a loop; 0: no limit.
  // A call that exceeds it ends with kLimit and names the function and binding in progress.
  virtual void set_call_limit(int64_t calls) noexcept = 0;
  // Passes the inputs and outputs of later calls to `sink`, as the plan specifies, before they
  // return; null: stops. The sink must outlive that. UserError as from check_plan(); kAbsent if the
  // other side of a remote VM does not support it, even for null.
  virtual Status set_capture(const CapturePlan& plan, CaptureSink* sink) noexcept = 0;
  // Passes later calls at the plan's sites to `dispatcher`, with tensors on this session; null:
  // none. The dispatcher must outlive that, and must not keep tensors beyond a run. UserError as
  // from dispatched_sites(); kAbsent if the other side of a remote VM does not support it, whatever
  // the plan.
  virtual Status set_dispatch(const DispatchPlan& plan, Dispatcher* dispatcher) noexcept = 0;
  // Reports the time of each later call to `sink` before the run returns; null: stops. It replaces
  // set_capture(), and the other way round. The sink must outlive that. kAbsent if the other side
  // of a remote VM does not support it, even for null.
  virtual Status set_timing(TimingSink* sink) noexcept = 0;
  // Called now and then by a thread that waits for a call, with the number of kernel calls that it
  // has launched so far; empty: never. A VM of this process ignores it: its call point has
  // observers.
  using CallWatcher = std::function<void(int64_t launched)>;
  virtual void set_call_watcher(const CallWatcher& watcher) noexcept { static_cast<void>(watcher); }
  virtual Session& session() const noexcept = 0;
  virtual const Executable& executable() const noexcept = 0;
};

// A VM for the executable whose calls can be captured, dispatched and timed: the session's own, or
// a local one if the session is remote and does not support that.
Result<std::unique_ptr<VirtualMachine>> open_instrumented(
    Session& session, std::shared_ptr<const Executable> executable) noexcept;

// Field `field` of a tuple, or a result that is a tensor itself (field 0). UserError for other
// values.
Result<const Tensor*> result_tensor(const Value& result, std::string_view function,
                                    size_t field) noexcept;

}  // namespace tapml::runtime
