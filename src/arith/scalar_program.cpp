#include "arith/scalar_program.h"

#include "ir/exceptions.h"

namespace tapml::arith {

namespace {

ScalarOp scalar_op(const PrimExpr& e) {
  switch (e.kind()) {
    case ExprKind::kAdd:
      return ScalarOp::kAdd;
    case ExprKind::kSub:
      return ScalarOp::kSub;
    case ExprKind::kMul:
      return ScalarOp::kMul;
    case ExprKind::kFloorDiv:
      return ScalarOp::kFloorDiv;
    case ExprKind::kFloorMod:
      return ScalarOp::kFloorMod;
    case ExprKind::kMin:
    case ExprKind::kAnd:
      return ScalarOp::kMin;
    case ExprKind::kMax:
    case ExprKind::kOr:
      return ScalarOp::kMax;
    case ExprKind::kEq:
    case ExprKind::kNe:
      return ScalarOp::kEq;
    case ExprKind::kLt:
    case ExprKind::kLe:
      return ScalarOp::kLt;
    default:
      throw_internal("no scalar program for the expression " + to_string(e));
  }
}

void compile(const PrimExpr& e, const SlotOf& slot_of, ScalarProgram& program);

// Truth values are 0 and 1.
void compile_negation(const PrimExpr& e, const SlotOf& slot_of, ScalarProgram& program) {
  program.code.push_back({ScalarOp::kConst, 1});
  compile(e, slot_of, program);
  program.code.push_back({ScalarOp::kSub, 0});
}

void compile(const PrimExpr& e, const SlotOf& slot_of, ScalarProgram& program) {
  if (!is_integer(e.dtype()) && e.dtype() != DType::kBool) {
    throw_internal("no scalar program for " + to_string(e));
  }
  if (e.is_int()) {
    program.code.push_back({ScalarOp::kConst, e->int_value});
    return;
  }
  if (e.is_var()) {
    const int64_t slot = slot_of(e);
    if (slot < 0) throw_internal("the variable " + e->name + " has no slot");
    program.code.push_back({ScalarOp::kSlot, slot});
    return;
  }
  if (e.kind() == ExprKind::kCast) return compile(e.operand(0), slot_of, program);
  if (e.kind() == ExprKind::kNot) return compile_negation(e.operand(0), slot_of, program);
  if (e.kind() == ExprKind::kSelect) {
    for (size_t i = 0; i < 3; ++i) compile(e.operand(i), slot_of, program);
    program.code.push_back({ScalarOp::kSelect, 0});
    return;
  }
  // a != b is not (a == b), a <= b is not (b < a).
  const bool negated = e.kind() == ExprKind::kNe || e.kind() == ExprKind::kLe;
  const bool swapped = e.kind() == ExprKind::kLe;
  if (negated) program.code.push_back({ScalarOp::kConst, 1});
  ScalarOp op = scalar_op(e);
  compile(e.operand(swapped ? 1 : 0), slot_of, program);
  compile(e.operand(swapped ? 0 : 1), slot_of, program);
  program.code.push_back({op, 0});
  if (negated) program.code.push_back({ScalarOp::kSub, 0});
}

}  // namespace

ScalarProgram compile_scalar(const PrimExpr& expr, std::span<const Var> variables) {
  return compile_scalar(expr, [&](const Var& variable) -> int64_t {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (variables[i].same_as(variable)) return static_cast<int64_t>(i);
    }
    return -1;
  });
}

ScalarProgram compile_scalar(const PrimExpr& expr, const SlotOf& slot_of) {
  ScalarProgram program;
  compile(expr, slot_of, program);
  return program;
}

PrimExpr scalar_expression(const ScalarProgram& program, std::span<const Var> variables) {
  std::vector<PrimExpr> stack;
  auto pop = [&] {
    if (stack.empty()) throw_internal("a scalar program lacks an operand");
    PrimExpr top = std::move(stack.back());
    stack.pop_back();
    return top;
  };
  for (const ScalarInst& inst : program.code) {
    if (inst.op == ScalarOp::kConst) {
      stack.push_back(inst.operand);
      continue;
    }
    if (inst.op == ScalarOp::kSlot) {
      if (inst.operand < 0 || static_cast<size_t>(inst.operand) >= variables.size()) {
        throw_internal("a scalar program reads a slot that does not exist");
      }
      stack.push_back(variables[static_cast<size_t>(inst.operand)]);
      continue;
    }
    PrimExpr b = pop(), a = pop();
    switch (inst.op) {
      case ScalarOp::kAdd:
        stack.push_back(a + b);
        break;
      case ScalarOp::kSub:
        stack.push_back(a - b);
        break;
      case ScalarOp::kMul:
        stack.push_back(a * b);
        break;
      case ScalarOp::kFloorDiv:
        stack.push_back(floordiv(a, b));
        break;
      case ScalarOp::kFloorMod:
        stack.push_back(floormod(a, b));
        break;
      case ScalarOp::kMin:
        stack.push_back(min(a, b));
        break;
      case ScalarOp::kMax:
        stack.push_back(max(a, b));
        break;
      case ScalarOp::kEq:
        stack.push_back(select(eq(a, b), 1, 0));
        break;
      case ScalarOp::kLt:
        stack.push_back(select(lt(a, b), 1, 0));
        break;
      case ScalarOp::kSelect: {
        PrimExpr condition = pop();
        stack.push_back(select(ne(condition, 0), a, b));
        break;
      }
      default:
        throw_internal("a scalar program with an unknown operation");
    }
  }
  if (stack.size() != 1) throw_internal("a scalar program does not leave one value");
  return stack[0];
}

}  // namespace tapml::arith
