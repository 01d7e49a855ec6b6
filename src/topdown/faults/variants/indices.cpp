// Faults of index arithmetic: another element is read. Indices stay within their dimensions.
#include "tir/visit.h"
#include "topdown/faults/variants/sites.h"

namespace tapml::topdown::variants {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Loads of two or more dimensions, with new indices for the last two.
Variants each_matrix(const PrimFunc& func,
                     const std::function<std::pair<PrimExpr, PrimExpr>(
                         const PrimExpr& i, const PrimExpr& j, const PrimExpr& rows,
                         const PrimExpr& columns)>& indices) {
  return each_input(func, [&](const PrimExpr& e) -> PrimExpr {
    const Buffer buffer = load_buffer(e);
    const size_t rank = buffer->shape.size();
    if (rank < 2) return {};
    std::vector<PrimExpr> changed = e->operands;
    std::tie(changed[rank - 2], changed[rank - 1]) = indices(
        e.operand(rank - 2), e.operand(rank - 1), buffer->shape[rank - 2], buffer->shape[rank - 1]);
    return load(buffer, std::move(changed));
  });
}

bool is_integer_input(const PrimExpr& e) {
  return e.dtype() == DType::kI32 || e.dtype() == DType::kI64;
}

}  // namespace

// Rows are assumed to be one element longer than they are.
Variants wrong_stride(const PrimFunc& func) {
  return each_matrix(func, [](const PrimExpr& i, const PrimExpr& j, const PrimExpr& rows,
                              const PrimExpr& columns) {
    const PrimExpr place = floormod(i * (columns + 1) + j, rows * columns);
    return std::pair(floordiv(place, columns), floormod(place, columns));
  });
}

Variants transposed_index(const PrimFunc& func) {
  return each_matrix(func, [](const PrimExpr& i, const PrimExpr& j, const PrimExpr& rows,
                              const PrimExpr& columns) {
    return std::pair(floormod(j, rows), floormod(i, columns));
  });
}

Variants shifted_index(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) -> PrimExpr {
    const Buffer buffer = load_buffer(e);
    if (buffer->shape.empty() || !is_float(e.dtype())) return {};
    std::vector<PrimExpr> changed = e->operands;
    changed.back() = min(changed.back() + 1, buffer->shape.back() - 1);
    return load(buffer, std::move(changed));
  });
}

// A vector is indexed by another loop than its own.
Variants broadcast_axis(const PrimFunc& func) {
  return each_stmt(func, [&](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kFor) return nullptr;
    const auto& loop = as<ForNode>(s);
    bool hit = false;
    auto other = [&](const PrimExpr& e) -> PrimExpr {
      if (e.kind() != ExprKind::kLoad || !is_float(e.dtype())) return {};
      const Buffer buffer = load_buffer(e);
      if (buffer->scope != Scope::kGlobal || buffer->shape.size() != 1 ||
          uses(e.operand(0), loop.var)) {
        return {};
      }
      hit = true;
      return load(buffer, {floormod(loop.var, buffer->shape[0])});
    };
    Stmt body = rewrite(loop.body, [&](const PrimExpr& e) { return rewrite_expr(e, other); });
    if (!hit) return nullptr;
    auto node = std::make_shared<ForNode>(loop);
    node->body = std::move(body);
    return node;
  });
}

// i // 3 of a head or group becomes i // 4, which is never larger.
Variants wrong_group(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) -> PrimExpr {
    std::vector<PrimExpr> changed = e->operands;
    bool hit = false;
    for (PrimExpr& index : changed) {
      if (index.kind() != ExprKind::kFloorDiv || !index.operand(1).is_int() ||
          index.operand(1)->int_value < 2) {
        continue;
      }
      index = floordiv(index.operand(0), PrimExpr(index.operand(1)->int_value + 1));
      hit = true;
    }
    return hit ? load(load_buffer(e), std::move(changed)) : PrimExpr();
  });
}

// An entry of a table is replaced by the one before it.
Variants stale_page(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) -> PrimExpr {
    const Buffer buffer = load_buffer(e);
    if (buffer->shape.empty() || !is_integer_input(e)) return {};
    std::vector<PrimExpr> changed = e->operands;
    changed.back() = max(changed.back() - 1, PrimExpr(0));
    return load(buffer, std::move(changed));
  });
}

// The table of pages is not read: the pages are 0, 1, 2, ...
Variants ignored_table(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) -> PrimExpr {
    if (load_buffer(e)->shape.size() != 2 || !is_integer_input(e)) return {};
    return cast(e.dtype(), e->operands.back());
  });
}

// One in five ids, lengths or pages becomes 0.
Variants some_ids(const PrimFunc& func) {
  return each_input(func, [](const PrimExpr& e) -> PrimExpr {
    if (!is_integer_input(e)) return {};
    const PrimExpr rest = floormod(e, make_int(5, e.dtype()));
    return select(eq(rest, make_int(4, e.dtype())), make_int(0, e.dtype()), e);
  });
}

// Outputs are wrong from index 3 of a dimension on: only longer inputs show it.
Variants late_rows(const PrimFunc& func) {
  constexpr int64_t kFirst = 3;
  size_t most = 0;
  for (const Param& param : func.params) most = std::max(most, param.buffer->shape.size());
  Variants variants;
  for (size_t d = 0; d + 1 < most; ++d) {
    append(variants, everywhere(func, {}, [&](const Stmt& s) -> Stmt {
             if (s->kind != StmtKind::kStore) return nullptr;
             const auto& store = as<StoreNode>(s);
             bool output = false;
             for (const Param& param : func.params) output |= param.buffer == store.buffer;
             if (!output || !is_float(store.buffer->dtype) || d + 1 >= store.indices.size()) {
               return nullptr;
             }
             const PrimExpr& row = store.indices[d];
             if (row.is_int() && row->int_value < kFirst) return nullptr;
             const PrimExpr wrong = store.value * make_float(1.5, store.buffer->dtype);
             return make_store(store.buffer, store.indices,
                               select(le(PrimExpr(kFirst), row), wrong, store.value));
           }));
  }
  return variants;
}

}  // namespace tapml::topdown::variants
