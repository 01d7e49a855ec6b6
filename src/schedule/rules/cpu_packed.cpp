// Products with weights: panels are packed once, at load, and used for every number of rows.
#include <algorithm>
#include <set>

#include "base/rounding.h"
#include "schedule/rules/groups.h"
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kFewElements = 4096;  // smaller operands are not worth a separate packed tensor

// Whether `expr` can be computed when weights are loaded: it reads only weights and depends only on
// the lane and the reduction, whose extents are constants.
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
  if (!found || !is_of_weights(found->right, weights, stage, *found)) return std::nullopt;
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

// Panels of the weights that `right` is computed from, each with the layout [panel, k // c, lane].
class WeightPanels {
 public:
  WeightPanels(const Product& product, int64_t lanes) : lane_(product.lane), lanes_(lanes) {
    right_ = rewrite_expr(product.right, [&](const PrimExpr& e) {
      if (e.kind() != ExprKind::kLoad) return PrimExpr();
      const Buffer source = load_buffer(e);
      fits_ &= e->operands.size() == 2 && e.operand(0).same_as(lane_.var);
      if (!fits_) return PrimExpr();
      return load(panels_of(source),
                  {floordiv(lane_.var, lanes_), e.operand(1), floormod(lane_.var, lanes_)});
    });
  }

  // null if a load has another form
  PrimExpr right() const { return fits_ ? right_ : PrimExpr(); }

  // The launches that fill the panels, followed by `multiply`. Lanes past the end repeat the last
  // one.
  Stmt around(Stmt multiply) const {
    std::vector<Stmt> launches;
    for (const auto& [source, panels] : panels_) launches.push_back(fill(source, panels));
    launches.push_back(in_panels(multiply));
    Stmt all = make_seq(std::move(launches));
    for (const auto& [source, panels] : panels_) all = make_alloc(panels, all);
    return all;
  }

 private:
  Buffer panels_of(const Buffer& source) {
    for (const auto& [known, panels] : panels_) {
      if (known == source) return panels;
    }
    const int64_t count = ceil_div(lane_.extent->int_value, lanes_);
    panels_.emplace_back(source, make_buffer(source->name + "_panels", source->dtype,
                                             {count, source->shape[1], lanes_}, Scope::kGlobal));
    return panels_.back().second;
  }

  Stmt fill(const Buffer& source, const Buffer& panels) const {
    Var panel = make_var("panel"), step = make_var("step"), lane = make_var("lane");
    PrimExpr row = panel * lanes_ + lane;
    if (lane_.extent->int_value % lanes_ != 0) row = min(row, lane_.extent - 1);
    Stmt copy = make_store(panels, {panel, step, lane}, load(source, {row, step}));
    Stmt lanes = make_for(lane, lanes_, copy, ForKind::kVectorized);
    return make_for(panel, panels->shape[0], make_for(step, panels->shape[1], lanes),
                    ForKind::kParallel);
  }

  // Lane panel * lanes + l of the product is lane l of the panel.
  Stmt in_panels(const Stmt& stmt) const {
    return rewrite(stmt, [&](const PrimExpr& root) {
      return rewrite_expr(root, [&](const PrimExpr& e) {
        const bool quotient = e.kind() == ExprKind::kFloorDiv;
        if (!quotient && e.kind() != ExprKind::kFloorMod) return PrimExpr();
        if (!e.operand(1).is_int(lanes_)) return PrimExpr();
        PrimExpr at = e.operand(0), panel = 0;
        if (at.kind() == ExprKind::kAdd && at.operand(0).kind() == ExprKind::kMul &&
            at.operand(0).operand(1).is_int(lanes_)) {
          panel = at.operand(0).operand(0);
          at = at.operand(1);
        }
        if (!at.is_var() || at->name != lane_.var->name) return PrimExpr();
        return quotient ? panel : at;
      });
    });
  }

  BlockIter lane_;
  int64_t lanes_;
  std::vector<std::pair<Buffer, Buffer>> panels_;  // weights and their panels
  PrimExpr right_;
  bool fits_ = true;
};

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
  WeightPanels packed(found->product, found->tiling.lanes);
  if (!packed.right()) return std::nullopt;
  found->product.right = packed.right();
  Panels panels(split, found->product, found->tiling);
  return LaunchPlan{packed.around(multiply_panels(panels, found->rows)), "cpu_quantized"};
}

}  // namespace tapml::schedule
