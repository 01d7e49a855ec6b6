// Faults of types: values that are rounded too early, truncated, or unpacked wrongly.
#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// A sum is rounded after every step, as by a store and a load.
Variants accumulation_in(DType dtype, const PrimFunc& func) {
  return everywhere(func, {}, [dtype](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    const auto& store = as<StoreNode>(s);
    if (store.buffer->scope != Scope::kLocal || store.buffer->dtype != DType::kF32 ||
        store.value.kind() != ExprKind::kAdd || !reads(store.value, store.buffer)) {
      return nullptr;
    }
    return make_store(store.buffer, store.indices, cast(DType::kF32, cast(dtype, store.value)));
  });
}

bool is_int32(const PrimExpr& e) { return e.dtype() == DType::kI32; }

}  // namespace

Variants wrong_accumulation(const PrimFunc& func) { return accumulation_in(DType::kBF16, func); }
Variants half_accumulation(const PrimFunc& func) { return accumulation_in(DType::kF16, func); }

Variants truncated_input(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) {
    const bool wide = e.dtype() == DType::kF32;
    return wide ? cast(DType::kF32, cast(DType::kBF16, e)) : PrimExpr();
  });
}

// Only three bits of an integer arrive in a float.
Variants narrowed_integer(const PrimFunc& func) {
  return each_expr(func, [](const PrimExpr& e) -> PrimExpr {
    if (e.kind() != ExprKind::kCast || !is_float(e.dtype())) return {};
    const PrimExpr& x = e.operand(0);
    if (x.dtype() != DType::kI32 && x.dtype() != DType::kI64) return {};
    return cast(e.dtype(), floormod(x, make_int(8, x.dtype())));
  });
}

// Codes are used without subtracting their zero point.
Variants missing_zero_point(const PrimFunc& func) {
  return everywhere(func,
                    [](const PrimExpr& e) -> PrimExpr {
                      const bool shifted = e.kind() == ExprKind::kSub && is_int32(e) &&
                                           e.operand(1).is_int() && has_integer_load(e.operand(0));
                      return shifted ? e.operand(0) : PrimExpr();
                    },
                    {});
}

// The high four bits of a byte are used as the low ones.
Variants nibble_order(const PrimFunc& func) {
  return everywhere(func,
                    [](const PrimExpr& e) -> PrimExpr {
                      if (e.kind() != ExprKind::kCall || e->name != "shift_right" || !is_int32(e))
                        return {};
                      return make_call(e->name, e.dtype(),
                                       {e.operand(0), max(make_int(0, e.dtype()),
                                                          make_int(4, e.dtype()) - e.operand(1))});
                    },
                    {});
}

}  // namespace tapml::topdown::variants
