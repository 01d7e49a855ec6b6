// Kernels that are wrong only for some sizes.
#pragma once

#include "tir/visit.h"

namespace tapml::topdown {

// Multiplies results by `factor` if the last scalar exceeds `limit`.
inline tir::PrimFuncRef scaled_when_long(const tir::PrimFunc& func, int64_t limit, double factor) {
  auto result = std::make_shared<tir::PrimFunc>(func);
  result->body = tir::rewrite(func.body, {}, [&](const tir::Stmt& s) -> tir::Stmt {
    if (s->kind != tir::StmtKind::kStore) return nullptr;
    const auto& store = tir::as<tir::StoreNode>(s);
    if (store.buffer->scope != tir::Scope::kGlobal || func.scalars.empty()) return nullptr;
    PrimExpr wrong = store.value * make_float(factor, store.buffer->dtype);
    return tir::make_store(store.buffer, store.indices,
                           select(lt(PrimExpr(limit), func.scalars.back()), wrong, store.value));
  });
  return result;
}

}  // namespace tapml::topdown
