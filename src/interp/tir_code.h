// Tensor programs compiled to trees of small objects: variables and buffers are slots of a frame.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "abi/allowances.h"
#include "interp/shadow.h"
#include "tir/matrix.h"
#include "tir/prim_func.h"

namespace tapml::interp {

struct BufferSlot {
  std::byte* data = nullptr;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements; empty if the buffer is compact
  Shadow* shadows = nullptr;     // one per element, with bounds; integers use only `moved`
};

// Elements that the buffer reserves.
int64_t reserved_elements(const BufferSlot& buffer);

// An asynchronous copy that has not arrived (tir/async_copy.h).
struct PendingCopy {
  DType dtype = DType::kF32;
  BufferSlot to, from;
  std::vector<int64_t> to_elements, from_elements;
  bool in_doubt = false;  // with bounds: a float decided that the copy was started
};
struct PendingCopies {
  std::vector<PendingCopy> uncommitted;
  std::deque<std::vector<PendingCopy>> groups;  // the oldest first
};

// State of one invocation.
struct Frame {
  std::vector<int64_t> ints;   // integer and bool variables
  std::vector<double> floats;  // float variables
  std::vector<BufferSlot> buffers;
  // Above 0 while a reduction without steps runs: blocks then run only their init.
  int init_only = 0;
  // With bounds: the floats' shadows, in their slots.
  std::vector<Shadow> shadows;
  // `doubtful` is above 0 under a condition in doubt: values stored there are unknown. `skipping`
  // is above 0 in the branch not taken: stores then only mark their element as doubtful.
  int doubtful = 0, skipping = 0;
  PendingCopies copies;
  // Called periodically by loops; may be null.
  const std::function<void()>* poll = nullptr;
  uint32_t steps = 0;

  void step() {
    if (poll && (++steps & 1023) == 0) (*poll)();
  }
};

// Integers of every width as int64 (u64 as its bits), bools as 0 and 1.
struct IntCode {
  virtual ~IntCode() = default;
  virtual int64_t run(Frame& frame) const = 0;
};
// Floats of every width as double, already rounded to their dtype.
struct FloatCode {
  virtual ~FloatCode() = default;
  virtual double run(Frame& frame) const = 0;
};
using IntPtr = std::unique_ptr<IntCode>;
using FloatPtr = std::unique_ptr<FloatCode>;

struct StmtCode {
  virtual ~StmtCode() = default;
  virtual void run(Frame& frame) const = 0;
  // Runs the invocations of a work group in lockstep; needed if the code contains a barrier.
  virtual void run_group(std::vector<Frame>& frames) const {
    for (Frame& frame : frames) run(frame);
  }
  // Whether threads join inside, and how many take the same path there: the width of the subgroups,
  // or 0 for all threads of the group.
  bool has_barrier = false;
  size_t together = 0;

  void contains(const StmtCode& part) {
    if (!part.has_barrier) return;
    together = !has_barrier || together == part.together ? part.together : 0;
    has_barrier = true;
  }
};
using StmtPtr = std::unique_ptr<StmtCode>;

// Hands out slots and compiles expressions.
class ExprCompiler {
 public:
  // Slot of a variable, made on first use (a variable is set before it is read).
  size_t slot(const Var& var);
  size_t buffer_slot(const tir::Buffer& buffer, bool declare = false);

  IntPtr integer(const PrimExpr& expr);     // for an integer or bool expression
  FloatPtr floating(const PrimExpr& expr);  // for a float expression
  // Element offset of a load or store, every index checked against its dimension.
  IntPtr offset(const tir::Buffer& buffer, const std::vector<PrimExpr>& indices);

  Frame make_frame() const;

  // Whether statements keep the shadows of the values that they store.
  bool with_bounds = false;
  // With bounds: what the target may do besides honest rounding.
  Allowances allowed;
  // With bounds: the loads of elements whose random errors others share (shared_loads).
  std::set<const ExprNode*> shared;

 private:
  IntPtr integer_call(const PrimExpr& expr);
  FloatPtr float_call(const PrimExpr& expr);

  std::map<const ExprNode*, size_t> ints_, floats_;
  std::map<const tir::BufferNode*, size_t> buffers_;
};

// `value` as dtype stores it: integers wrap, floats round to nearest even.
int64_t wrap_integer(DType dtype, int64_t value);
double round_float(DType dtype, double value);

int64_t load_integer(DType dtype, const std::byte* data, int64_t index);
double load_float(DType dtype, const std::byte* data, int64_t index);
void store_integer(DType dtype, std::byte* data, int64_t index, int64_t value);
void store_float(DType dtype, std::byte* data, int64_t index, double value);

StmtPtr compile_stmt(ExprCompiler& compiler, const tir::Stmt& stmt);
// Compiles a store of a subgroup operation.
StmtPtr compile_subgroup_store(ExprCompiler& compiler, const tir::StoreNode& node);
StmtPtr compile_matrix(ExprCompiler& compiler, const tir::MatrixNode& node);
// Compiles copy_async, commit_copies or wait_copies.
StmtPtr compile_async(ExprCompiler& compiler, const tir::Stmt& stmt);
// Throws an InternalError if a copy to or from memory that ends has not arrived.
void check_copies(const Frame& frame, const BufferSlot& ending, const std::string& name);

}  // namespace tapml::interp
