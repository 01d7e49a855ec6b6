#include "abi/scalar_program.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tapml {

namespace {

// Programs up to this length run without an allocation.
constexpr size_t kLocalStack = 32;

Error malformed(size_t position, const char* what) {
  return internal_error(std::string("a scalar program is malformed: ") + what,
                        "instruction " + std::to_string(position));
}

Error overflow(const char* symbol, int64_t a, int64_t b) {
  return user_error("a size or index is beyond 64-bit integers", "", "a value within int64",
                    std::to_string(a) + " " + symbol + " " + std::to_string(b));
}

Result<int64_t> apply(ScalarOp op, int64_t a, int64_t b) {
  int64_t value = 0;
  switch (op) {
    case ScalarOp::kAdd:
      if (__builtin_add_overflow(a, b, &value)) return fail(overflow("+", a, b));
      return value;
    case ScalarOp::kSub:
      if (__builtin_sub_overflow(a, b, &value)) return fail(overflow("-", a, b));
      return value;
    case ScalarOp::kMul:
      if (__builtin_mul_overflow(a, b, &value)) return fail(overflow("*", a, b));
      return value;
    case ScalarOp::kFloorDiv:
    case ScalarOp::kFloorMod: {
      bool divide = op == ScalarOp::kFloorDiv;
      if (b == 0) {
        return fail(user_error("a size or index divides by zero", "", "a divisor other than 0",
                               std::to_string(a) + (divide ? " // 0" : " % 0")));
      }
      if (b == -1) {  // the one quotient that overflows; the hardware traps on both
        if (!divide) return 0;
        if (a == std::numeric_limits<int64_t>::min()) return fail(overflow("//", a, b));
        return -a;
      }
      int64_t quotient = a / b;
      int64_t remainder = a % b;
      if (remainder != 0 && (remainder < 0) != (b < 0)) {
        --quotient;
        remainder += b;
      }
      return divide ? quotient : remainder;
    }
    case ScalarOp::kMin:
      return std::min(a, b);
    case ScalarOp::kMax:
      return std::max(a, b);
    case ScalarOp::kEq:
      return a == b ? 1 : 0;
    case ScalarOp::kLt:
      return a < b ? 1 : 0;
    case ScalarOp::kConst:
    case ScalarOp::kSlot:
    case ScalarOp::kSelect:
      break;
  }
  return fail(internal_error("a scalar program is malformed: unknown operation"));
}

}  // namespace

Result<int64_t> evaluate(const ScalarProgram& program, std::span<const int64_t> slots) {
  const std::vector<ScalarInst>& code = program.code;
  std::array<int64_t, kLocalStack> local;
  std::vector<int64_t> heap;
  int64_t* stack = local.data();
  if (code.size() > local.size()) {
    heap.resize(code.size());
    stack = heap.data();
  }
  size_t depth = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    const ScalarInst& inst = code[i];
    if (inst.op == ScalarOp::kConst) {
      stack[depth++] = inst.operand;
    } else if (inst.op == ScalarOp::kSlot) {
      if (inst.operand < 0 || static_cast<uint64_t>(inst.operand) >= slots.size()) {
        return fail(malformed(i, "it reads a slot that does not exist"));
      }
      stack[depth++] = slots[static_cast<size_t>(inst.operand)];
    } else if (inst.op == ScalarOp::kSelect) {
      if (depth < 3) return fail(malformed(i, "an operation lacks its operands"));
      depth -= 2;
      stack[depth - 1] = stack[depth - 1] != 0 ? stack[depth] : stack[depth + 1];
    } else {
      if (depth < 2) return fail(malformed(i, "an operation lacks its operands"));
      TAPML_ASSIGN(stack[depth - 2], apply(inst.op, stack[depth - 2], stack[depth - 1]));
      --depth;
    }
  }
  if (depth != 1) return fail(malformed(code.size(), "it does not leave exactly one value"));
  return stack[0];
}

}  // namespace tapml
