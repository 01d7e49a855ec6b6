// Interprets the bytecode of one call of the virtual machine.
#pragma once

#include <limits>

#include "runtime/call_point.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/storage_pool.h"

namespace tapml::runtime {

// The executable must have passed validate(): indices are not checked again. Register contents are
// checked; an instruction that finds another kind of value is an InternalError that names it.
class Execution {
 public:
  Execution(const Executable& executable, Session& session, CallPoint& point, StoragePool& pool,
            const std::vector<CallSite>& sites, const std::vector<Tensor>& constants,
            const std::vector<std::shared_ptr<Storage>>& static_storages,
            const std::vector<const HostFunction*>& packed)
      : executable_(executable),
        session_(session),
        point_(point),
        pool_(pool),
        sites_(sites),
        constants_(constants),
        static_storages_(static_storages),
        packed_(packed) {}

  void set_interrupt(const std::atomic<bool>* flag) { interrupt_ = flag; }
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }
  void set_call_limit(int64_t calls) { call_limit_ = calls; }

  // Runs `function` to its return. Keeps the allocated memory for the next run.
  Result<Value> run(const VmFunction& function, std::span<const Value> args,
                    const Deadline& deadline) noexcept;

 private:
  // A check of the result that a function left behind when it made a tail call.
  struct Promise {
    const VmFunction* function = nullptr;
    const ValueCheck* check = nullptr;
    std::vector<int64_t> slots;
  };

  // A function in progress. Frames are on the heap, so recursion depth does not depend on the
  // thread's stack size.
  struct Frame {
    const VmFunction* function = nullptr;
    size_t next = 0;     // index of the next instruction
    int32_t result = 0;  // register of the caller
    std::vector<Value> registers;
    std::vector<int64_t> slots;
    std::vector<Promise> promises;  // of the functions that this one replaced
  };

  Frame& enter(const VmFunction& function, int32_t result);
  void leave();
  Status run_to_end(Value& result);
  // Ok unless the run is interrupted or out of time. `what`: "kernel".
  Status may_go_on(const char* what, const std::string& name) const;
  Status step(const Instruction& inst);
  Status make_tensor(Frame& frame, const Instruction& inst);
  Status make_view(Frame& frame, const Instruction& inst);
  Status get_item(Frame& frame, const Instruction& inst);
  Status call_kernel(Frame& frame, const Instruction& inst);
  Status prepare(Frame& frame, const Instruction& inst);
  Status make_tuple(Frame& frame, const Instruction& inst);
  Status make_prim(Frame& frame, const Instruction& inst);
  Status make_closure(Frame& frame, const Instruction& inst);
  // `captured`: the first arguments of the callee.
  Status call_function(const VmFunction& callee, std::span<const Value> captured,
                       const Instruction& inst);
  Status call_value(Frame& frame, const Instruction& inst);
  Status promise(Frame& frame, const Instruction& inst);
  Status storage(Frame& frame, const Instruction& inst);
  Status call_packed(Frame& frame, const Instruction& inst);
  Status read_shape(Frame& frame, const Instruction& inst);
  Status branch_if_not(Frame& frame, const Instruction& inst);
  Status compute(const Frame& frame, int32_t program, int64_t& value) const;
  Status compute_slot(Frame& frame, const Instruction& inst);
  Status set_offset(const Frame& frame, int32_t layout, Tensor& tensor) const;
  static Error unmade(const Frame& frame, const TensorLayout& plan, std::span<const int64_t> shape,
                      Error error);
  Status lay_out(const Frame& frame, int32_t layout, int64_t room, Tensor& tensor) const;
  Error wrong_value(const Frame& frame, const char* wanted) const;
  static const BindingNote* note_of(const Frame& frame);
  static std::string operation_location(const Frame& frame);
  std::string place(const Frame& frame) const;
  std::string backtrace() const;

  const Executable& executable_;
  Session& session_;
  CallPoint& point_;
  StoragePool& pool_;
  const std::vector<CallSite>& sites_;
  const std::vector<Tensor>& constants_;
  const std::vector<std::shared_ptr<Storage>>& static_storages_;
  const std::vector<const HostFunction*>& packed_;
  const std::atomic<bool>* interrupt_ = nullptr;
  Deadline deadline_;  // of the run; a dispatch target may set another one
  int64_t call_limit_ = std::numeric_limits<int64_t>::max();
  int64_t calls_left_ = 0;
  // The first `depth_` are in progress; the others are empty and kept for reuse.
  std::vector<Frame> frames_;
  size_t depth_ = 0;
  size_t live_registers_ = 0;  // of all frames
  // Of the current kernel call.
  std::vector<const Tensor*> call_args_;
  std::vector<int64_t> call_scalars_;
  std::vector<Value> call_values_;  // of the current tail call or packed call
};

}  // namespace tapml::runtime
