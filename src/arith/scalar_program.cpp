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
      return ScalarOp::kMin;
    case ExprKind::kMax:
      return ScalarOp::kMax;
    default:
      throw_internal("no scalar program for the expression " + to_string(e));
  }
}

void compile(const PrimExpr& e, std::span<const Var> variables, ScalarProgram& program) {
  if (!is_integer(e.dtype())) throw_internal("no scalar program for " + to_string(e));
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
  ScalarOp op = scalar_op(e);
  compile(e.operand(0), variables, program);
  compile(e.operand(1), variables, program);
  program.code.push_back({op, 0});
}

}  // namespace

ScalarProgram compile_scalar(const PrimExpr& expr, std::span<const Var> variables) {
  ScalarProgram program;
  compile(expr, variables, program);
  return program;
}

}  // namespace tapml::arith
