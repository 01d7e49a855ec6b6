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

void compile(const PrimExpr& e, std::span<const Var> variables, ScalarProgram& program);

// Truth values are 0 and 1.
void compile_negation(const PrimExpr& e, std::span<const Var> variables, ScalarProgram& program) {
  program.code.push_back({ScalarOp::kConst, 1});
  compile(e, variables, program);
  program.code.push_back({ScalarOp::kSub, 0});
}

void compile(const PrimExpr& e, std::span<const Var> variables, ScalarProgram& program) {
  if (!is_integer(e.dtype()) && e.dtype() != DType::kBool) {
    throw_internal("no scalar program for " + to_string(e));
  }
  if (e.is_int()) {
    program.code.push_back({ScalarOp::kConst, e->int_value});
    return;
  }
  if (e.is_var()) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (!variables[i].same_as(e)) continue;
      program.code.push_back({ScalarOp::kSlot, static_cast<int64_t>(i)});
      return;
    }
    throw_internal("the variable " + e->name + " has no slot");
  }
  if (e.kind() == ExprKind::kCast) return compile(e.operand(0), variables, program);
  if (e.kind() == ExprKind::kNot) return compile_negation(e.operand(0), variables, program);
  if (e.kind() == ExprKind::kSelect) {
    for (size_t i = 0; i < 3; ++i) compile(e.operand(i), variables, program);
    program.code.push_back({ScalarOp::kSelect, 0});
    return;
  }
  // a != b is not (a == b), a <= b is not (b < a).
  const bool negated = e.kind() == ExprKind::kNe || e.kind() == ExprKind::kLe;
  const bool swapped = e.kind() == ExprKind::kLe;
  if (negated) program.code.push_back({ScalarOp::kConst, 1});
  ScalarOp op = scalar_op(e);
  compile(e.operand(swapped ? 1 : 0), variables, program);
  compile(e.operand(swapped ? 0 : 1), variables, program);
  program.code.push_back({op, 0});
  if (negated) program.code.push_back({ScalarOp::kSub, 0});
}

}  // namespace

ScalarProgram compile_scalar(const PrimExpr& expr, std::span<const Var> variables) {
  ScalarProgram program;
  compile(expr, variables, program);
  return program;
}

}  // namespace tapml::arith
