// Products with weights: panels that are packed once, at load, and serve every number of rows.
#include <algorithm>

#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kFewElements =
    4096;  // below, packed elements are not worth a tensor of their own

// Whether `expr` is known once weights are: it reads nothing else and walks over nothing but the
// lane and the reduction, whose extents are constants.
bool is_of_weights(const PrimExpr& expr, const std::vector<Buffer>& weights, const Stage& stage,
                   const Product& product) {
  bool known = product.lane.extent.is_int();
  for (const BlockIter& iter : stage.reduction) known &= iter.extent.is_int();
  for (const Var& var : free_vars(expr)) {
    bool own = var.same_as(product.lane.var);
    for (const BlockIter& iter : stage.reduction) own |= var.same_as(iter.var);
    known &= own;
  }
  visit_expr(expr, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad) return;
    const Buffer buffer = load_buffer(e);
    known &= std::find(weights.begin(), weights.end(), buffer) != weights.end();
    for (const PrimExpr& dim : buffer->shape) known &= dim.is_int();
  });
  return known;
}

}  // namespace

std::optional<LaunchPlan> cpu_packed(const Stage& stage, const std::vector<Buffer>& weights,
                                     int64_t vector_bytes) {
  if (weights.empty()) return std::nullopt;
  std::optional<Product> found = find_product(stage);
  if (!found || !is_of_weights(found->right, weights, stage, *found)) return std::nullopt;
  for (const BlockIter& iter : found->outer) {
    if (!iter.extent.is_int(1)) return std::nullopt;
  }
  PrimExpr rows = product(found->rows);
  std::optional<Tiling> tiling = find_tiling(stage, *found, rows, vector_bytes, 1);
  if (!tiling) return std::nullopt;
  int64_t steps = stage.reduction[0].extent->int_value * tiling->inner;
  if (steps < 1 || found->lane.extent->int_value < kFewElements / steps) return std::nullopt;

  Buffer packed = Panels::packed_buffer(stage, *found, *tiling);
  Panels panels(stage, *found, *tiling, packed);
  Stmt fill = panels.pack_all();
  Var item = make_var("item");
  Stmt body = rows.is_int(1) ? panels.single_row(item) : panels.body(item);
  if (!rows.is_int()) body = make_if(eq(rows, 1), panels.single_row(item), body);
  Stmt multiply = make_for(item, panels.item_count(), body, ForKind::kParallel);
  return LaunchPlan{make_alloc(packed, make_seq({fill, multiply})), "cpu_packed"};
}

}  // namespace tapml::schedule
