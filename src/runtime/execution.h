// Steps through the bytecode of one call of the virtual machine.
#pragma once

#include "runtime/call_point.h"
#include "runtime/storage_pool.h"
#include "runtime/vm.h"

namespace tapml::runtime {

// The executable must have passed validate(): indices are not checked again. What registers hold is
// checked; an instruction that meets another kind of value is an InternalError that names it.
class Execution {
 public:
  Execution(const Executable& executable, CallPoint& point, StoragePool& pool,
            const std::vector<CallSite>& sites, const std::vector<Tensor>& constants)
      : executable_(executable), point_(point), pool_(pool), sites_(sites), constants_(constants) {}

  // Runs `function` to its return.
  Result<Value> run(const VmFunction& function, std::span<const Value> args) noexcept;

 private:
  // One function in progress. Frames lie on the heap, so that the depth of recursion does not
  // depend on the size of the thread's stack.
  struct Frame {
    const VmFunction* function = nullptr;
    size_t next = 0;     // instruction
    int32_t result = 0;  // register of the caller
    std::vector<Value> registers;
    std::vector<int64_t> slots;
  };

  void enter(const VmFunction& function, int32_t result);
  Status step(const Instruction& inst);
  Status make_tensor(Frame& frame, const Instruction& inst);
  Status make_view(Frame& frame, const Instruction& inst);
  Status get_item(Frame& frame, const Instruction& inst);
  Status call_kernel(Frame& frame, const Instruction& inst);
  Status call_function(const Instruction& inst);
  Status read_shape(Frame& frame, const Instruction& inst);
  Status branch_if_not(Frame& frame, const Instruction& inst);
  Result<Tensor> lay_out(const Frame& frame, int32_t layout, std::shared_ptr<Storage> storage,
                         int64_t offset, int64_t room) const;
  Error wrong_value(const Frame& frame, const char* wanted) const;

  const Executable& executable_;
  CallPoint& point_;
  StoragePool& pool_;
  const std::vector<CallSite>& sites_;
  const std::vector<Tensor>& constants_;
  std::vector<Frame> frames_;
  size_t live_registers_ = 0;      // of all frames
  std::vector<Tensor> call_args_;  // of the kernel call at hand; kept to save allocations
  std::vector<int64_t> call_scalars_;
};

}  // namespace tapml::runtime
