// Tensor programs compiled to trees of small objects: variables and buffers are slots of a frame.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interp/shadow.h"
#include "tir/prim_func.h"

namespace tapml::interp {

struct BufferSlot {
  std::byte* data = nullptr;
  std::vector<int64_t> dims;
  Shadow* shadows = nullptr;  // one an element, when judging; of integers only `moved` counts
};

// State of one invocation.
struct Frame {
  std::vector<int64_t> ints;   // integer and bool variables
  std::vector<double> floats;  // float variables
  std::vector<BufferSlot> buffers;
  // Above 0 while a reduction without steps runs: blocks then do only their init.
  int init_only = 0;
  // When judging: the floats' shadows, in their slots.
  std::vector<Shadow> shadows;
  // Above 0 under a condition that is in doubt: nothing is known of what is stored there. Where it
  // is not even taken, stores only leave that doubt behind.
  int doubtful = 0, skipping = 0;
  // What loops call now and then; may be null.
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
  // Runs the invocations of a work group in step; needed where a barrier is inside.
  virtual void run_group(std::vector<Frame>& frames) const {
    for (Frame& frame : frames) run(frame);
  }
  bool has_barrier = false;
};
using StmtPtr = std::unique_ptr<StmtCode>;

// Hands out slots and compiles expressions.
class ExprCompiler {
 public:
  // Slot of a variable, made on first use (a variable is set before it is read).
  size_t slot(const Var& var);
  size_t buffer_slot(const tir::Buffer& buffer, bool declare = false);

  IntPtr integer(const PrimExpr& expr);     // of an integer or bool expression
  FloatPtr floating(const PrimExpr& expr);  // of a float expression
  // Element offset of a load or store, every index checked against its dimension.
  IntPtr offset(const tir::Buffer& buffer, const std::vector<PrimExpr>& indices);

  Frame make_frame() const;

  // Statements keep the shadow of what they store.
  bool with_bounds = false;

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
// A store of an operation of a subgroup.
StmtPtr compile_subgroup_store(ExprCompiler& compiler, const tir::StoreNode& node);

}  // namespace tapml::interp
