// Faults of loops: iterations, work items and lanes that are skipped.
#include "tir/subgroup.h"
#include "tir/visit.h"
#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

bool is_launch(const ForNode& loop) {
  return loop.for_kind == ForKind::kParallel || loop.for_kind == ForKind::kWorkgroup;
}

// A copy of the loop with another extent. None for loops over the invocations of a work group.
Stmt with_extent(const Stmt& s, bool launch,
                 const std::function<PrimExpr(const PrimExpr&)>& extent) {
  if (s->kind != StmtKind::kFor) return nullptr;
  const auto& loop = as<ForNode>(s);
  if (is_launch(loop) != launch || loop.for_kind == ForKind::kThread || loop.extent.is_int(0)) {
    return nullptr;
  }
  PrimExpr changed = extent(loop.extent);
  if (!changed) return nullptr;
  auto node = std::make_shared<ForNode>(loop);
  node->extent = std::move(changed);
  return node;
}

bool accumulates(const Stmt& s) {
  if (s->kind != StmtKind::kStore) return false;
  const auto& store = as<StoreNode>(s);
  return is_float(store.buffer->dtype) && reads(store.value, store.buffer);
}

}  // namespace

Variants off_by_one(const PrimFunc& func) {
  return each_stmt(func, [](const Stmt& s) {
    return with_extent(s, false, [](const PrimExpr& n) { return max(PrimExpr(0), n - 1); });
  });
}

Variants dropped_tail(const PrimFunc& func) {
  return each_stmt(func, [](const Stmt& s) {
    return with_extent(s, true, [](const PrimExpr& n) {
      return max(PrimExpr(0), n - max(PrimExpr(1), floordiv(n, 8)));
    });
  });
}

Variants unaligned_tail(const PrimFunc& func) {
  constexpr int64_t kLanes = 4;
  return each_stmt(func, [](const Stmt& s) {
    return with_extent(s, false, [](const PrimExpr& n) {
      const bool aligned = n.is_int() && n->int_value % kLanes == 0;
      return aligned ? PrimExpr() : floordiv(n, kLanes) * PrimExpr(kLanes);
    });
  });
}

Variants grid_cut(const PrimFunc& func) {
  constexpr int64_t kLimit = 3;
  return each_stmt(func, [](const Stmt& s) {
    return with_extent(s, true, [](const PrimExpr& n) {
      const bool within = n.is_int() && n->int_value <= kLimit;
      return within ? PrimExpr() : min(n, PrimExpr(kLimit));
    });
  });
}

Variants half_reduction(const PrimFunc& func) {
  return each_stmt(func, [](const Stmt& s) {
    return with_extent(s, false, [&](const PrimExpr& n) -> PrimExpr {
      if (!n.is_int() || n->int_value < 4 || n->int_value % 2 != 0) return {};
      bool sums = false;
      visit(as<ForNode>(s).body, [&](const Stmt& inner) { sums |= accumulates(inner); });
      return sums ? PrimExpr(n->int_value / 2) : PrimExpr();
    });
  });
}

// A step of a tree over the invocations of a work group: if thread < 32 { a[t] += a[t + 32] }; or
// an operation of their subgroups, as if these had one thread.
Variants subgroup_width(const PrimFunc& func) {
  return each_stmt(func, [](const Stmt& s) -> Stmt {
    if (s->kind == StmtKind::kStore) {
      const auto& store = as<StoreNode>(s);
      const auto call = as_subgroup_call(store.value);
      return call ? make_store(store.buffer, store.indices, call->value) : nullptr;
    }
    if (s->kind != StmtKind::kIf) return nullptr;
    const auto& step = as<IfNode>(s);
    if (step.else_body || step.then_body->kind != StmtKind::kStore ||
        as<StoreNode>(step.then_body).buffer->scope != Scope::kShared ||
        !accumulates(step.then_body)) {
      return nullptr;
    }
    return make_if(make_bool(false), step.then_body);
  });
}

// The causal mask ends one position early, except for the first token.
Variants causal_mask(const PrimFunc& func) {
  return everywhere(func,
                    [](const PrimExpr& e) -> PrimExpr {
                      if (!has_integer_load(e)) return {};
                      if (e.kind() == ExprKind::kMin && !is_float(e.dtype())) {
                        return max(PrimExpr(1), make_node(e.kind(), e.dtype(), e->operands) - 1);
                      }
                      if (e.kind() != ExprKind::kLe || has_load(e.operand(0))) return {};
                      return logical_or(eq(e.operand(0), 0), lt(e.operand(0), e.operand(1)));
                    },
                    {});
}

}  // namespace tapml::topdown::variants
