// Operations of subgroups (tir/subgroup.h): the threads of a group run in lockstep up to them,
// exchange their values within their subgroup, and continue.
#include "tir/subgroup.h"

#include "interp/tir_code.h"
#include "ir/exceptions.h"

namespace tapml::interp {

namespace {

// The value that one thread contributes or receives.
struct LaneValue {
  int64_t integer = 0;
  double floating = 0;
  Shadow shadow;
  bool in_doubt = false;  // for an integer
};

struct SubgroupCode final : StmtCode {
  SubgroupCode() { has_barrier = true; }

  void run(Frame&) const override {
    throw_internal("a subgroup operation outside a loop over threads");
  }

  void run_group(std::vector<Frame>& frames) const override {
    if (frames.size() % lanes != 0) {
      throw_internal("a group of " + std::to_string(frames.size()) +
                     " threads is not made of subgroups of " + std::to_string(lanes));
    }
    std::vector<LaneValue> given;
    given.reserve(frames.size());
    for (Frame& frame : frames) given.push_back(read(frame));
    for (size_t first = 0; first < frames.size(); first += lanes) {
      LaneValue all = given[first];
      for (size_t lane = 1; lane < lanes && !shuffles; ++lane) {
        all = join(frames[first], all, given[first + lane]);
      }
      for (size_t lane = 0; lane < lanes; ++lane) {
        write(frames[first + lane], shuffles ? given[first + (lane ^ mask)] : all);
      }
    }
  }

  LaneValue read(Frame& frame) const {
    LaneValue result;
    if (with_bounds) result.in_doubt = doubt && doubt->run(frame);
    if (floating) {
      result.floating = floating->run(frame);
      if (with_bounds && frame.skipping == 0) result.shadow = shadow->run(frame);
    } else {
      result.integer = integer->run(frame);
    }
    return result;
  }

  LaneValue join(Frame& frame, const LaneValue& a, const LaneValue& b) const {
    LaneValue result;
    result.in_doubt = a.in_doubt || b.in_doubt;
    if (!floating) {
      frame.ints[left] = a.integer;
      frame.ints[right] = b.integer;
      result.integer = joined_integer->run(frame);
      return result;
    }
    frame.floats[left] = a.floating;
    frame.floats[right] = b.floating;
    result.floating = joined_float->run(frame);
    if (with_bounds) {
      frame.shadows[left] = a.shadow;
      frame.shadows[right] = b.shadow;
      result.shadow = joined_shadow->run(frame);
    }
    return result;
  }

  void write(Frame& frame, const LaneValue& value) const {
    const BufferSlot& buffer = frame.buffers[slot];
    const int64_t at = offset->run(frame);
    if (with_bounds) {
      Shadow next = value.shadow;
      if (frame.doubtful > 0 || value.in_doubt) next = Shadow::unknown(next.value);
      if (frame.skipping > 0) {
        buffer.shadows[at].moved = next.moved;
        return;
      }
      buffer.shadows[at] = next;
    }
    if (floating) {
      store_float(dtype, buffer.data, at, value.floating);
    } else {
      store_integer(dtype, buffer.data, at, value.integer);
    }
  }

  DType dtype = DType::kF32;
  size_t lanes = 1;
  bool shuffles = false;
  size_t mask = 0;
  bool with_bounds = false;
  // What to store, and where.
  size_t slot = 0;
  IntPtr offset, integer;
  FloatPtr floating;
  ShadowPtr shadow;
  DoubtPtr doubt;
  // Combines two values, in variables at these slots.
  size_t left = 0, right = 0;
  IntPtr joined_integer;
  FloatPtr joined_float;
  ShadowPtr joined_shadow;
};

}  // namespace

StmtPtr compile_subgroup_store(ExprCompiler& compiler, const tir::StoreNode& node) {
  const tir::SubgroupCall call = *tir::as_subgroup_call(node.value);
  auto code = std::make_unique<SubgroupCode>();
  code->dtype = node.buffer->dtype;
  code->lanes = static_cast<size_t>(call.width);
  code->mask = static_cast<size_t>(call.mask);
  code->with_bounds = compiler.with_bounds;
  code->slot = compiler.buffer_slot(node.buffer);
  code->offset = compiler.offset(node.buffer, node.indices);
  const bool is_floating = is_float(code->dtype);
  std::vector<PrimExpr> decided = node.indices;
  if (is_floating) {
    code->floating = compiler.floating(call.value);
    if (compiler.with_bounds) code->shadow = compile_shadow(compiler, call.value);
  } else {
    code->integer = compiler.integer(call.value);
    decided.push_back(call.value);
  }
  if (compiler.with_bounds) {
    code->doubt = compile_doubt(compiler, make_node(ExprKind::kAdd, DType::kI64, decided));
  }
  const auto combination = tir::combination_of(call.op);
  code->shuffles = !combination;
  if (!combination) return code;
  Var a = make_var("a", code->dtype), b = make_var("b", code->dtype);
  code->left = compiler.slot(a);
  code->right = compiler.slot(b);
  const PrimExpr joined = make_binary(*combination, a, b);
  if (is_floating) {
    code->joined_float = compiler.floating(joined);
    if (compiler.with_bounds) code->joined_shadow = compile_shadow(compiler, joined);
  } else {
    code->joined_integer = compiler.integer(joined);
  }
  return code;
}

}  // namespace tapml::interp
