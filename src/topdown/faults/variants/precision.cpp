// Faults of precision: results that are nearly right, in every element.
#include <cmath>

#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr double kSlight = 1.0001;

bool is_constant(const PrimExpr& e, double least) {
  return e.kind() == ExprKind::kFloat && std::isfinite(e->float_value) && e->float_value >= least;
}

}  // namespace

Variants half_input(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) {
    const bool wide = e.dtype() == DType::kF32;
    return wide ? cast(DType::kF32, cast(DType::kF16, e)) : PrimExpr();
  });
}

Variants half_products(const PrimFunc& func) {
  return everywhere(func, {}, [](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    const auto& store = as<StoreNode>(s);
    if (store.buffer->dtype != DType::kF32 || store.value.kind() != ExprKind::kAdd) return nullptr;
    for (size_t term : {0, 1}) {
      const PrimExpr& sum = store.value.operand(1 - term);
      const PrimExpr& product = store.value.operand(term);
      if (!reads(sum, store.buffer) || product.kind() != ExprKind::kMul) continue;
      return make_store(store.buffer, store.indices,
                        sum + cast(DType::kF32, cast(DType::kF16, product)));
    }
    return nullptr;
  });
}

Variants slight_gain(const PrimFunc& func) {
  Variants variants;
  for (const Param& param : func.params) {
    if (param.mode != AccessMode::kOut || !is_float(param.buffer->dtype)) continue;
    append(variants, everywhere(func, {}, [&](const Stmt& s) -> Stmt {
             if (s->kind != StmtKind::kStore) return nullptr;
             const auto& store = as<StoreNode>(s);
             if (store.buffer != param.buffer || reads(store.value, store.buffer)) {
               return nullptr;
             }
             const PrimExpr wide = cast(DType::kF32, store.value);
             return make_store(store.buffer, store.indices,
                               cast(store.value.dtype(), wide * make_float(kSlight, DType::kF32)));
           }));
  }
  return variants;
}

Variants inexact_function(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    const bool function = e.kind() == ExprKind::kCall &&
                          (e->name == "exp" || e->name == "tanh" || e->name == "rsqrt");
    if (!is_float(e.dtype()) || (!function && e.kind() != ExprKind::kDiv)) return {};
    return e * make_float(kSlight, e.dtype());
  });
}

Variants slight_constant(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    return is_constant(e, 1e-3) ? make_float(e->float_value * 1.005, e.dtype()) : PrimExpr();
  });
}

Variants smaller_epsilon(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    const bool small = is_constant(e, 1e-12) && e->float_value < 1e-3;
    return small ? make_float(e->float_value / 10, e.dtype()) : PrimExpr();
  });
}

}  // namespace tapml::topdown::variants
