#include "passes/lower_math.h"

#include "ir/exceptions.h"
#include "ir/intrinsics.h"
#include "passes/math/functions.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::passes {

namespace {

struct UnaryFunction {
  const char* name;
  PrimExpr (*lower)(const PrimExpr&);
};

constexpr UnaryFunction kUnary[] = {
    {"exp", math::exp},     {"exp2", math::exp2},   {"expm1", math::expm1}, {"log", math::log},
    {"log2", math::log2},   {"log10", math::log10}, {"sin", math::sin},     {"cos", math::cos},
    {"tan", math::tan},     {"asin", math::asin},   {"acos", math::acos},   {"atan", math::atan},
    {"sinh", math::sinh},   {"cosh", math::cosh},   {"tanh", math::tanh},   {"asinh", math::asinh},
    {"acosh", math::acosh}, {"atanh", math::atanh}, {"erf", math::erf},
};

PrimExpr lower_unary(const std::string& name, const PrimExpr& x) {
  for (const UnaryFunction& function : kUnary) {
    if (name == function.name) return function.lower(x);
  }
  throw_internal("no portable math for this function", "intrinsic " + name);
}

// f64 stays a call of the platform's function. The operands are bound once, because the formulas
// use them several times.
PrimExpr lower_call(const PrimExpr& call) {
  if (call.dtype() == DType::kF64) return PrimExpr();
  Var x = make_var("x", DType::kF32);
  PrimExpr value;
  if (call->name == "pow") {
    Var y = make_var("y", DType::kF32);
    value = let(y, cast(DType::kF32, call.operand(1)), math::pow(x, y));
  } else {
    value = lower_unary(call->name, x);
  }
  return cast(call.dtype(), let(x, cast(DType::kF32, call.operand(0)), value));
}

}  // namespace

PrimExpr lower_math(const PrimExpr& expr) {
  return rewrite_expr(expr, [](const PrimExpr& e) {
    if (e.kind() != tapml::ExprKind::kCall) return PrimExpr();
    const IntrinsicInfo* info = find_intrinsic(e->name);
    if (!info && tir::find_subgroup_op(e->name)) return PrimExpr();
    if (!info) throw_internal("unknown intrinsic", e->name);
    return info->needs_math ? lower_call(e) : PrimExpr();
  });
}

tir::PrimFuncRef lower_math(const tir::PrimFunc& func) {
  auto result = std::make_shared<tir::PrimFunc>(func);
  result->body = tir::rewrite(func.body, [](const PrimExpr& e) { return lower_math(e); });
  return result;
}

}  // namespace tapml::passes
