// Products with weights: panels are packed once, at load, and used for every number of rows.
#include <algorithm>
#include <set>

#include "base/rounding.h"
#include "schedule/rules/groups.h"
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"
#include "schedule/rules/weight_panels.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Whether the packed form would take more memory than the weights: dequantized weights stay in
// their compressed form. Extents are constants.
bool would_grow(const Stage& stage, const Product& product, DType kept) {
  std::set<const BufferNode*> seen;
  int64_t sources = 0, packed = dtype_bytes(kept) * product.lane.extent->int_value;
  for (const BlockIter& iter : stage.reduction) packed *= iter.extent->int_value;
  visit_expr(product.right, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad || !seen.insert(load_buffer(e).get()).second) return;
    int64_t bytes = dtype_bytes(load_buffer(e)->dtype);
    for (const PrimExpr& dim : load_buffer(e)->shape) bytes *= dim->int_value;
    sources += bytes;
  });
  return packed > sources;
}

// A product with weights that both rules accept, and its tiling.
struct WeightProduct {
  Product product;
  PrimExpr rows;
  Tiling tiling;
};

std::optional<WeightProduct> find_weight_product(const Stage& stage,
                                                 const std::vector<Buffer>& weights,
                                                 const target::VectorRegisters& vectors) {
  if (weights.empty()) return std::nullopt;
  std::optional<Product> found = find_product(stage);
  if (!found || !is_of_weights(found->right, weights, stage, found->lane)) return std::nullopt;
  for (const BlockIter& iter : found->outer) {
    if (!iter.extent.is_int(1)) return std::nullopt;
  }
  PrimExpr rows = product(found->rows);
  std::optional<Tiling> tiling = find_tiling(stage, *found, rows, vectors, 1);
  if (!tiling) return std::nullopt;
  int64_t steps = stage.reduction[0].extent->int_value * tiling->inner;
  if (steps < 1 || found->lane.extent->int_value < kFewElements / steps) return std::nullopt;
  return WeightProduct{*found, rows, *tiling};
}

// The launch that multiplies, for a static or dynamic number of rows.
Stmt multiply_panels(Panels& panels, const PrimExpr& rows) {
  Var item = make_var("item");
  Stmt body = rows.is_int(1) ? panels.single_row(item) : panels.body(item);
  if (!rows.is_int()) body = make_if(eq(rows, 1), panels.single_row(item), body);
  return make_for(item, panels.item_count(), body, ForKind::kParallel);
}

}  // namespace

std::optional<LaunchPlan> cpu_packed(const Stage& stage, const std::vector<Buffer>& weights,
                                     const target::VectorRegisters& vectors) {
  std::optional<WeightProduct> found = find_weight_product(stage, weights, vectors);
  if (!found) return std::nullopt;
  Buffer packed = Panels::packed_buffer(stage, found->product, found->tiling);
  if (would_grow(stage, found->product, packed->dtype)) return std::nullopt;
  Panels panels(stage, found->product, found->tiling, packed);
  Stmt fill = panels.pack_all();
  Stmt multiply = multiply_panels(panels, found->rows);
  return LaunchPlan{make_alloc(packed, make_seq({fill, multiply})), "cpu_packed"};
}

std::optional<LaunchPlan> cpu_quantized(const Stage& stage, const std::vector<Buffer>& weights,
                                        const target::VectorRegisters& vectors) {
  const Stage split = split_steps(stage);
  if (split.reduction.size() == stage.reduction.size()) return std::nullopt;
  std::optional<WeightProduct> found = find_weight_product(split, weights, vectors);
  if (!found) return std::nullopt;
  WeightPanels packed(found->product.right, found->product.lane, found->tiling.lanes);
  if (!packed.right()) return std::nullopt;
  found->product.right = packed.right();
  Panels panels(split, found->product, found->tiling);
  return LaunchPlan{packed.around(multiply_panels(panels, found->rows)), "cpu_quantized"};
}

}  // namespace tapml::schedule
