// Sums of products with enough rows to amortize packing: matrix products and convolutions.
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

std::optional<LaunchPlan> cpu_product(const Stage& stage, const target::VectorRegisters& vectors,
                                      const std::function<LaunchPlan(const Stage&)>& few_rows) {
  std::optional<Product> found = find_product(stage);
  if (!found || found->rows.empty()) return std::nullopt;
  PrimExpr rows = product(found->rows);
  std::optional<Tiling> tiling = find_tiling(stage, *found, rows, vectors, kFewRows);
  if (!tiling) return std::nullopt;
  Panels panels(stage, *found, *tiling);
  Var item = make_var("item");
  Stmt many = panels.body(item);
  PrimExpr count = panels.item_count();
  if (rows.is_int()) {
    return LaunchPlan{make_for(item, count, many, ForKind::kParallel), "cpu_product"};
  }
  // The number of rows selects the body at run time: one extent, two bodies.
  LaunchPlan other = few_rows(stage);
  if (other.nest->kind != StmtKind::kFor) return std::nullopt;
  const auto& loop = as<ForNode>(other.nest);
  if (loop.for_kind != ForKind::kParallel) return std::nullopt;
  PrimExpr is_many = min(max(rows - (kFewRows - 1), PrimExpr(0)), PrimExpr(1));
  PrimExpr extent = count * is_many + loop.extent * (PrimExpr(1) - is_many);
  Stmt few = tir::substitute(loop.body, {{loop.var.get(), item}});
  Stmt body = make_if(lt(rows, kFewRows), few, many);
  return LaunchPlan{make_for(item, extent, body, ForKind::kParallel), "cpu_product"};
}

}  // namespace tapml::schedule
