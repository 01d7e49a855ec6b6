// Faults that end the process of a kernel, or make it hang.
#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

Variants crash(const PrimFunc& func) {
  // Far beyond the memory of any process.
  constexpr int64_t kFarAway = int64_t{1} << 42;
  return each_stmt(func, [](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    const auto& store = as<StoreNode>(s);
    if (store.buffer->scope != Scope::kGlobal || store.indices.empty()) return nullptr;
    std::vector<PrimExpr> indices = store.indices;
    indices[0] = indices[0] + PrimExpr(kFarAway);
    return make_store(store.buffer, std::move(indices), store.value);
  });
}

// Each iteration depends on the one before, so that no compiler can remove the loop.
Variants endless_loop(const PrimFunc& func) {
  return each_stmt(func, [](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kStore) return nullptr;
    const auto& store = as<StoreNode>(s);
    const DType dtype = store.buffer->dtype;
    if (store.buffer->scope != Scope::kGlobal || dtype == DType::kBool) return nullptr;
    const PrimExpr old = load(store.buffer, store.indices);
    const PrimExpr turn = is_float(dtype) ? old * make_float(0.5, dtype) + store.value
                                          : old * make_int(3, dtype) + store.value;
    Stmt body = make_store(store.buffer, store.indices, turn);
    constexpr int64_t kTurns = int64_t{1} << 30;
    for (const char* name : {"again", "and_again"}) {
      body = make_for(make_var(name, DType::kI64), PrimExpr(kTurns), body);
    }
    return body;
  });
}

}  // namespace tapml::topdown::variants
