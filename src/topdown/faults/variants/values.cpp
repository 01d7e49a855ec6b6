// Faults of arithmetic: constants, operands, functions.
#include <cmath>

#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

PrimExpr constant(double value, const PrimExpr& like) { return make_float(value, like.dtype()); }

bool is_finite_constant(const PrimExpr& e) {
  return e.kind() == ExprKind::kFloat && std::isfinite(e->float_value);
}

// Swaps two inputs of the same dtype and shape.
Variants swapped_inputs(const PrimFunc& func) {
  Variants variants;
  for (size_t i = 0; i < func.params.size(); ++i) {
    for (size_t j = i + 1; j < func.params.size(); ++j) {
      const Param &a = func.params[i], &b = func.params[j];
      bool same = a.mode == AccessMode::kIn && b.mode == AccessMode::kIn &&
                  a.buffer->dtype == b.buffer->dtype &&
                  a.buffer->shape.size() == b.buffer->shape.size();
      for (size_t d = 0; same && d < a.buffer->shape.size(); ++d) {
        same = same_expr(a.buffer->shape[d], b.buffer->shape[d]);
      }
      if (!same) continue;
      auto result = std::make_shared<PrimFunc>(func);
      std::swap(result->params[i], result->params[j]);
      variants.push_back(std::move(result));
    }
  }
  return variants;
}

// The first terms of the series at 0.
PrimExpr series(const PrimExpr& x, const std::vector<double>& coefficients) {
  PrimExpr sum = constant(coefficients.back(), x);
  for (size_t i = coefficients.size() - 1; i-- > 0;) {
    sum = sum * x + constant(coefficients[i], x);
  }
  return sum;
}

}  // namespace

Variants wrong_constant(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    if (!is_finite_constant(e)) return {};
    return constant(e->float_value == 0 ? 0.25 : e->float_value * 1.25, e);
  });
}

Variants wrong_epsilon(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    const bool small = is_finite_constant(e) && e->float_value > 0 && e->float_value < 1e-3;
    return small ? constant(e->float_value * 1e4, e) : PrimExpr();
  });
}

Variants missing_scale(const PrimFunc& func) {
  return everywhere(func,
                    [](const PrimExpr& e) -> PrimExpr {
                      if (e.kind() != ExprKind::kMul || !is_float(e.dtype())) return {};
                      if (is_finite_constant(e.operand(1))) return e.operand(0);
                      if (is_finite_constant(e.operand(0))) return e.operand(1);
                      return {};
                    },
                    {});
}

Variants swapped_operands(const PrimFunc& func) {
  Variants variants = each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    if (!is_float(e.dtype())) return {};
    if (e.kind() == ExprKind::kSub || e.kind() == ExprKind::kDiv) {
      return make_node(e.kind(), e.dtype(), {e.operand(1), e.operand(0)});
    }
    // Guards of loads stay: with a swapped guard, a load could leave its buffer.
    if (e.kind() != ExprKind::kSelect || has_load(e)) return {};
    return make_node(ExprKind::kSelect, e.dtype(), {e.operand(0), e.operand(2), e.operand(1)});
  });
  append(variants, swapped_inputs(func));
  return variants;
}

// Drops one side of a sum that is not a step of an accumulation, such as a residual.
Variants dropped_term(const PrimFunc& func) {
  Variants variants;
  for (size_t kept : {0, 1}) {
    append(variants, everywhere(func, {}, [&](const Stmt& s) -> Stmt {
             if (s->kind != StmtKind::kStore) return nullptr;
             const auto& store = as<StoreNode>(s);
             if (store.value.kind() != ExprKind::kAdd || !is_float(store.value.dtype()) ||
                 reads(store.value, store.buffer) || !has_load(store.value.operand(0)) ||
                 !has_load(store.value.operand(1))) {
               return nullptr;
             }
             return make_store(store.buffer, store.indices, store.value.operand(kept));
           }));
  }
  return variants;
}

// Both sides of a selection become the same one. Loads stay guarded by their condition.
Variants missing_select(const PrimFunc& func) {
  Variants variants;
  for (size_t side : {1, 2}) {
    append(variants, each_expr(func, [&](const PrimExpr& e) -> PrimExpr {
             const bool may =
                 e.kind() == ExprKind::kSelect && is_float(e.dtype()) && !has_load(e.operand(side));
             return may ? e.operand(side) : PrimExpr();
           }));
  }
  return variants;
}

Variants fast_math(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    if (e.kind() != ExprKind::kCall || !is_float(e.dtype())) return {};
    const PrimExpr& x = e.operand(0);
    if (e->name == "exp") return series(x, {1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24});
    if (e->name == "tanh") return series(x, {0, 1, 0, -1.0 / 3, 0, 2.0 / 15});
    // One step of Newton's method from an initial guess for values near 1.
    if (e->name == "rsqrt") return constant(1.5, e) - constant(0.5, e) * x;
    return {};
  });
}

Variants angle_sign(const PrimFunc& func) {
  return everywhere(func,
                    [](const PrimExpr& e) -> PrimExpr {
                      if (e.kind() != ExprKind::kCall || e->name != "sin") return {};
                      return make_call("sin", e.dtype(), {constant(0, e) - e.operand(0)});
                    },
                    {});
}

// Inverse frequencies base^-i become those of the squared base.
Variants rope_base(const PrimFunc& func) {
  return everywhere(func,
                    [](const PrimExpr& e) -> PrimExpr {
                      if (e.kind() != ExprKind::kCall || (e->name != "sin" && e->name != "cos"))
                        return {};
                      const PrimExpr angle = rewrite_expr(e.operand(0), [](const PrimExpr& part) {
                        const bool frequency =
                            part.kind() == ExprKind::kLoad && is_float(part.dtype());
                        return frequency ? part * part : PrimExpr();
                      });
                      if (angle.same_as(e.operand(0))) return {};
                      return make_call(e->name, e.dtype(), {angle});
                    },
                    {});
}

}  // namespace tapml::topdown::variants
