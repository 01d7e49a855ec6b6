// Matrix operations (tir/matrix.h): the threads of a subgroup run in lockstep up to them. The first
// thread's memory holds the fragments of its subgroup.
#include "tir/matrix.h"

#include <bit>

#include "interp/tir_leaf.h"
#include "ir/exceptions.h"

namespace tapml::interp {

namespace {

struct Element {
  int64_t integer = 0;
  double floating = 0;
  Shadow shadow;
};

Element read_element(DType dtype, const BufferSlot& buffer, int64_t at) {
  Element result;
  if (is_float(dtype)) {
    result.floating = load_float(dtype, buffer.data, at);
  } else {
    result.integer = load_integer(dtype, buffer.data, at);
  }
  if (buffer.shadows) result.shadow = buffer.shadows[at];
  return result;
}

void write_element(DType dtype, const Frame& frame, const BufferSlot& buffer, int64_t at,
                   const Element& element) {
  if (buffer.shadows) {
    const bool in_doubt = frame.doubtful > 0;
    const Shadow next = in_doubt ? Shadow::unknown(element.shadow.value) : element.shadow;
    if (frame.skipping > 0) {
      buffer.shadows[at].moved = next.moved;
      return;
    }
    buffer.shadows[at] = next;
  }
  if (is_float(dtype)) {
    store_float(dtype, buffer.data, at, element.floating);
  } else {
    store_integer(dtype, buffer.data, at, element.integer);
  }
}

struct MatrixCode : StmtCode {
  void run(Frame&) const override {
    throw_internal(std::string(name) + " outside a loop over threads");
  }

  void run_group(std::vector<Frame>& frames) const override {
    if (frames.size() % together != 0) {
      throw_internal("a group of " + std::to_string(frames.size()) +
                     " threads is not made of subgroups of " + std::to_string(together));
    }
    for (size_t first = 0; first < frames.size(); first += together) {
      for (size_t lane = 1; lane < together; ++lane) {
        for (const IntPtr& operand : operands) {
          if (operand->run(frames[first]) == operand->run(frames[first + lane])) continue;
          throw_internal(std::string("the threads of a subgroup reach ") + name +
                         " with different operands");
        }
      }
      Frame& frame = frames[first];
      const bool in_doubt = doubt && doubt->run(frame);
      frame.doubtful += in_doubt ? 1 : 0;
      subgroup(frame);
      frame.doubtful -= in_doubt ? 1 : 0;
    }
  }

  virtual void subgroup(Frame& frame) const = 0;

  const char* name = "";
  DType dtype = DType::kF32;  // of the fragment that is filled, moved or added to
  int64_t rows = 0, columns = 0;
  size_t fragment = 0;
  std::vector<IntPtr> operands;  // equal in all threads of a subgroup; a float as its bits
  DoubtPtr doubt;                // about integers among them
};

struct FillCode final : MatrixCode {
  void subgroup(Frame& frame) const override {
    Element element;
    element.integer = operands[0]->run(frame);
    element.floating = std::bit_cast<double>(element.integer);
    if (shadow && frame.skipping == 0) element.shadow = shadow->run(frame);
    for (int64_t at = 0; at < rows * columns; ++at) {
      write_element(dtype, frame, frame.buffers[fragment], at, element);
    }
  }
  ShadowPtr shadow;
};

struct MoveCode final : MatrixCode {
  void subgroup(Frame& frame) const override {
    const BufferSlot& outside = frame.buffers[memory];
    const BufferSlot& inside = frame.buffers[fragment];
    const int64_t begin = operands[0]->run(frame), leading = operands[1]->run(frame);
    const int64_t end = reserved_elements(outside);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t at = begin + (by_rows ? r * leading + c : c * leading + r);
        if (at < 0 || at >= end) {
          throw_internal("element [" + std::to_string(r) + ", " + std::to_string(c) + "] of " +
                         name + " is element " + std::to_string(at) + " of buffer " + memory_name +
                         ", which has " + std::to_string(end));
        }
        const int64_t own = r * columns + c;
        if (stores) {
          write_element(dtype, frame, outside, at, read_element(dtype, inside, own));
        } else {
          write_element(dtype, frame, inside, own, read_element(dtype, outside, at));
        }
      }
    }
  }
  size_t memory = 0;
  std::string memory_name;
  bool by_rows = true, stores = false;
};

struct MultiplyAddCode final : MatrixCode {
  void subgroup(Frame& frame) const override {
    const BufferSlot &a = frame.buffers[left], &b = frame.buffers[right];
    const BufferSlot& c = frame.buffers[accumulator];
    // The result may be the accumulator: each element needs only its own.
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        Element sum = read_element(dtype, c, i * columns + j);
        for (int64_t k = 0; k < depth; ++k) {
          set(frame, left_value, read_element(factor_dtype, a, i * depth + k));
          set(frame, right_value, read_element(factor_dtype, b, k * columns + j));
          set(frame, sum_value, sum);
          if (floating) {
            sum.floating = floating->run(frame);
            if (shadow) sum.shadow = shadow->run(frame);
          } else {
            sum.integer = integer->run(frame);
            if (in_doubt(a, i * depth + k) || in_doubt(b, k * columns + j)) {
              sum.shadow = Shadow::unknown(0);
            }
          }
        }
        write_element(dtype, frame, frame.buffers[fragment], i * columns + j, sum);
      }
    }
  }

  static bool in_doubt(const BufferSlot& buffer, int64_t at) {
    return buffer.shadows && buffer.shadows[at].moved > 0;
  }

  void set(Frame& frame, size_t slot, const Element& element) const {
    if (!floating) {
      frame.ints[slot] = element.integer;
      return;
    }
    frame.floats[slot] = element.floating;
    if (shadow) frame.shadows[slot] = element.shadow;
  }

  DType factor_dtype = DType::kF16;
  int64_t depth = 0;
  size_t left = 0, right = 0, accumulator = 0;            // buffers
  size_t left_value = 0, right_value = 0, sum_value = 0;  // variables of the step
  IntPtr integer;
  FloatPtr floating;
  ShadowPtr shadow;
};

std::unique_ptr<MatrixCode> compile_fill(ExprCompiler& compiler, const tir::MatrixNode& node) {
  auto code = std::make_unique<FillCode>();
  if (!is_float(node.value.dtype())) {
    code->operands.push_back(compiler.integer(node.value));
    if (compiler.with_bounds) code->doubt = compile_doubt(compiler, node.value);
    return code;
  }
  code->operands.push_back(make_int_code([value = compiler.floating(node.value)](Frame& frame) {
    return std::bit_cast<int64_t>(value->run(frame));
  }));
  if (compiler.with_bounds) code->shadow = compile_shadow(compiler, node.value);
  return code;
}

std::unique_ptr<MatrixCode> compile_move(ExprCompiler& compiler, const tir::MatrixNode& node) {
  auto code = std::make_unique<MoveCode>();
  code->operands.push_back(compiler.offset(node.memory, node.indices));
  code->operands.push_back(compiler.integer(node.leading));
  if (compiler.with_bounds) {
    std::vector<PrimExpr> decided = node.indices;
    decided.push_back(node.leading);
    // One doubt covers all of them.
    code->doubt = compile_doubt(compiler, make_node(ExprKind::kAdd, DType::kI64, decided));
  }
  code->memory = compiler.buffer_slot(node.memory);
  code->memory_name = node.memory->name;
  code->by_rows = node.layout == tir::MatrixLayout::kRowMajor;
  code->stores = node.op == tir::MatrixOp::kStore;
  return code;
}

std::unique_ptr<MatrixCode> compile_product(ExprCompiler& compiler, const tir::MatrixNode& node) {
  auto code = std::make_unique<MultiplyAddCode>();
  const DType dtype = node.accumulator->dtype;
  code->factor_dtype = node.left->dtype;
  code->depth = tir::fragment_columns(*node.left);
  code->left = compiler.buffer_slot(node.left);
  code->right = compiler.buffer_slot(node.right);
  code->accumulator = compiler.buffer_slot(node.accumulator);
  Var left = make_var("left", node.left->dtype), right = make_var("right", node.right->dtype);
  Var sum = make_var("sum", dtype);
  code->left_value = compiler.slot(left);
  code->right_value = compiler.slot(right);
  code->sum_value = compiler.slot(sum);
  const PrimExpr step = sum + cast(dtype, left) * cast(dtype, right);
  if (is_float(dtype)) {
    code->floating = compiler.floating(step);
    if (compiler.with_bounds) code->shadow = compile_shadow(compiler, step);
  } else {
    code->integer = compiler.integer(step);
  }
  return code;
}

std::unique_ptr<MatrixCode> compile_kind(ExprCompiler& compiler, const tir::MatrixNode& node) {
  switch (node.op) {
    case tir::MatrixOp::kFill:
      return compile_fill(compiler, node);
    case tir::MatrixOp::kLoad:
    case tir::MatrixOp::kStore:
      return compile_move(compiler, node);
    case tir::MatrixOp::kMultiplyAdd:
      return compile_product(compiler, node);
  }
  throw_internal("unknown matrix operation");
}

}  // namespace

StmtPtr compile_matrix(ExprCompiler& compiler, const tir::MatrixNode& node) {
  std::unique_ptr<MatrixCode> code = compile_kind(compiler, node);
  code->has_barrier = true;
  code->together = static_cast<size_t>(node.width);
  code->name = tir::matrix_op_name(node.op);
  code->dtype = node.fragment->dtype;
  code->rows = tir::fragment_rows(*node.fragment);
  code->columns = tir::fragment_columns(*node.fragment);
  code->fragment = compiler.buffer_slot(node.fragment);
  return code;
}

}  // namespace tapml::interp
