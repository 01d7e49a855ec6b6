// Products of rows with matrices that each row chooses, as in mixtures of experts.
#include <optional>

#include "ir/queries.h"
#include "schedule/rules/groups.h"
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"
#include "schedule/rules/weight_panels.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kRowsForEach = 2;  // of a matrix, on average: with fewer, grouping does not pay

// out[rows..., lane] += select(valid, left * right, 0), where `right` reads matrix `chosen` of
// several, and `chosen` and `valid` depend on the rows alone.
struct GatheredProduct {
  PrimExpr left, right, chosen;
  PrimExpr valid;    // null: always
  BlockIter matrix;  // what stands for `chosen` in `right`
};

bool is_zero(const PrimExpr& e) {
  return (e.kind() == ExprKind::kFloat && e->float_value == 0) || e.is_int(0);
}

bool uses_any(const PrimExpr& expr, const std::vector<BlockIter>& iters) {
  for (const BlockIter& iter : iters) {
    if (uses(expr, iter.var)) return true;
  }
  return false;
}

// The outermost load whose first index depends on the rows; null if there is none.
PrimExpr load_by_rows(const PrimExpr& expr, const std::vector<BlockIter>& rows) {
  const bool is_load = expr.kind() == ExprKind::kLoad && !expr->operands.empty();
  if (is_load && uses_any(expr.operand(0), rows)) return expr;
  for (const PrimExpr& operand : expr->operands) {
    if (PrimExpr found = load_by_rows(operand, rows)) return found;
  }
  return {};
}

std::optional<GatheredProduct> find_gathered(const Stage& stage) {
  if (!stage.simple || !stage.reduces() || stage.spatial.size() < 2) return std::nullopt;
  if (stage.value.kind() != ExprKind::kAdd || !is_load_of(stage.value.operand(0), stage.out) ||
      !free_vars(stage.init_value).empty()) {
    return std::nullopt;
  }
  GatheredProduct found;
  PrimExpr term = stage.value.operand(1);
  if (term.kind() == ExprKind::kSelect && is_zero(term.operand(2))) {
    found.valid = term.operand(0);
    term = term.operand(1);
  }
  if (term.kind() != ExprKind::kMul || reads(term, stage.out)) return std::nullopt;
  const std::vector<BlockIter> rows(stage.spatial.begin(), stage.spatial.end() - 1);
  const Var& lane = stage.spatial.back().var;
  found.left = term.operand(0);
  found.right = term.operand(1);
  if (uses(found.left, lane)) std::swap(found.left, found.right);
  if (uses(found.left, lane) || !uses(found.right, lane)) return std::nullopt;

  const PrimExpr chooses = load_by_rows(found.right, rows);
  if (!chooses) return std::nullopt;
  found.chosen = chooses.operand(0);
  const PrimExpr& matrices = load_buffer(chooses)->shape[0];
  found.matrix = {make_var("matrix"), matrices, IterType::kSpatial, {}};
  found.right = rewrite_expr(found.right, [&](const PrimExpr& e) {
    return same_expr(e, found.chosen) ? PrimExpr(found.matrix.var) : PrimExpr();
  });
  bool fits = matrices.is_int() && !uses_any(found.right, rows);
  visit_expr(found.right, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad || !uses(e, found.matrix.var)) return;
    fits &= e.operand(0).same_as(found.matrix.var) && same_expr(load_buffer(e)->shape[0], matrices);
  });
  if (!fits) return std::nullopt;
  for (const PrimExpr& of_rows : {found.chosen, found.valid}) {
    if (of_rows && (uses(of_rows, lane) || uses_any(of_rows, stage.reduction))) return std::nullopt;
  }
  return found;
}

// Rows sorted by their matrices: `order` has the numbers of all rows, `ends[m]` how many of them
// have a matrix up to m. Rows without a matrix come last.
class SortedRows {
 public:
  SortedRows(const Stage& stage, const GatheredProduct& found)
      : rows_(stage.spatial.begin(), stage.spatial.end() - 1),
        count_(product(rows_)),
        matrices_(found.matrix.extent->int_value),
        order_(make_buffer(stage.out->name + "_order", DType::kI32, {count_}, Scope::kGlobal)),
        ends_(make_buffer(stage.out->name + "_ends", DType::kI32, {matrices_ + 1}, Scope::kGlobal)),
        chosen_(found.valid ? select(found.valid, cast(DType::kI64, found.chosen), matrices_)
                            : cast(DType::kI64, found.chosen)) {}

  const PrimExpr& count() const { return count_; }
  PrimExpr begin(const PrimExpr& matrix) const {
    return select(eq(matrix, 0), 0, end(max(matrix - 1, PrimExpr(0))));
  }
  PrimExpr end(const PrimExpr& matrix) const { return cast(DType::kI64, load(ends_, {matrix})); }
  // The iterators of the row at a place in the order.
  VarMap at(const PrimExpr& place) const {
    return decode(rows_, cast(DType::kI64, load(order_, {place})));
  }
  Stmt around(Stmt launches) const {
    return make_alloc(order_, make_alloc(ends_, std::move(launches)));
  }

  // Sorts by counting: the rows of each matrix, where each matrix's rows begin, and then each row
  // into its place, which moves the beginning to the end.
  Stmt sort() const {
    const auto loop = [](const char* name, const PrimExpr& extent, auto&& body) {
      Var var = make_var(name);
      return make_for(var, extent, body(var));
    };
    const auto add = [&](const PrimExpr& matrix, const PrimExpr& number) {
      return make_store(ends_, {matrix}, load(ends_, {matrix}) + number);
    };
    const PrimExpr one = make_int(1, DType::kI32), zero = make_int(0, DType::kI32);
    Stmt clear =
        loop("matrix", matrices_ + 1, [&](const Var& m) { return make_store(ends_, {m}, zero); });
    Stmt count = loop("row", count_, [&](const Var& row) {
      const PrimExpr next = chosen_of(row) + 1;
      return make_if(le(next, matrices_), add(min(next, PrimExpr(matrices_)), one));
    });
    Stmt sum = loop("matrix", PrimExpr(matrices_),
                    [&](const Var& m) { return add(m + 1, load(ends_, {m})); });
    Stmt place = loop("row", count_, [&](const Var& row) {
      const PrimExpr matrix = chosen_of(row);
      Stmt put = make_store(order_, {end(matrix)}, cast(DType::kI32, row));
      return make_seq({put, add(matrix, one)});
    });
    return make_seq({clear, count, sum, place});
  }

 private:
  PrimExpr chosen_of(const Var& row) const {
    return tapml::substitute(chosen_, decode(rows_, row));
  }

  std::vector<BlockIter> rows_;
  PrimExpr count_;
  int64_t matrices_;
  Buffer order_, ends_;
  PrimExpr chosen_;  // the last number for none
};

// The products of each matrix with its rows, and those of each row with its matrix.
class GatheredPlan {
 public:
  GatheredPlan(const Stage& stage, GatheredProduct found)
      : stage_(stage), found_(std::move(found)), sorted_(stage, found_) {}

  const PrimExpr& count() const { return sorted_.count(); }
  int64_t least() const { return kRowsForEach * found_.matrix.extent->int_value; }
  bool can_be_many() const { return !count().is_int() || count()->int_value >= least(); }
  bool can_be_few() const { return !count().is_int() || count()->int_value < least(); }

  // One more matrix stands for the rows without one, whose sums stay empty.
  Product of_matrices(const PrimExpr& right) const {
    BlockIter matrix = found_.matrix;
    matrix.extent = matrix.extent + 1;
    return {.left = found_.left,
            .right = right,
            .rows = rows_of(stage_),
            .outer = {matrix},
            .lane = stage_.spatial.back(),
            .row_count = sorted_.end(matrix.var) - sorted_.begin(matrix.var),
            .exists = lt(matrix.var, found_.matrix.extent),
            .row_at = [this](const PrimExpr& place) {
              return sorted_.at(sorted_.begin(found_.matrix.var) + place);
            }};
  }
  // The one row of an item comes with its matrix.
  Product of_rows(const PrimExpr& right) const {
    const PrimExpr chosen =
        found_.valid ? select(found_.valid, found_.chosen, PrimExpr(0)) : found_.chosen;
    return {.left = found_.left,
            .right = right,
            .rows = {{found_.matrix.var, 1, IterType::kSpatial, {}}},
            .outer = rows_of(stage_),
            .lane = stage_.spatial.back(),
            .row_count = {},
            .exists = found_.valid,
            .row_at = [this, chosen](const PrimExpr&) {
              return VarMap{{found_.matrix.var.get(), chosen}};
            }};
  }

  // Both in one launch, after one that sorts the rows if they are many. `few` and `many` compute
  // `item`.
  Stmt launches(const Var& item, const PrimExpr& many_items, Stmt many, const PrimExpr& few_items,
                Stmt few) const {
    if (!can_be_many()) return make_for(item, few_items, std::move(few), ForKind::kParallel);
    PrimExpr sorts = 1, items = many_items;
    Stmt body = std::move(many);
    if (can_be_few()) {
      sorts = min(max(count() - (least() - 1), PrimExpr(0)), PrimExpr(1));
      items = many_items * sorts + few_items * (PrimExpr(1) - sorts);
      body = make_if(lt(count(), least()), std::move(few), body);
    }
    Stmt sort = make_for(make_var("item"), sorts, sorted_.sort(), ForKind::kParallel);
    return sorted_.around(
        make_seq({std::move(sort), make_for(item, items, body, ForKind::kParallel)}));
  }

 private:
  static std::vector<BlockIter> rows_of(const Stage& stage) {
    return {stage.spatial.begin(), stage.spatial.end() - 1};
  }

  const Stage& stage_;
  GatheredProduct found_;
  SortedRows sorted_;
};

// For weights in their compressed form, packed when they are loaded.
std::optional<LaunchPlan> with_packed_weights(const Stage& stage,
                                              const std::vector<Buffer>& weights,
                                              const target::VectorRegisters& vectors) {
  const Stage split = split_steps(stage);
  if (weights.empty() || split.reduction.size() == stage.reduction.size()) return std::nullopt;
  std::optional<GatheredProduct> found = find_gathered(split);
  if (!found) return std::nullopt;
  const BlockIter& lane = split.spatial.back();
  if (!is_of_weights(found->right, weights, split, lane, &found->matrix)) return std::nullopt;
  const GatheredPlan plan(split, *found);
  const std::optional<Tiling> tiling =
      find_tiling(split, plan.of_matrices(found->right), plan.count(), vectors, 1);
  if (!tiling) return std::nullopt;
  const WeightPanels packed(found->right, lane, tiling->lanes, found->matrix.var);
  if (!packed.right()) return std::nullopt;
  const Product of_matrices = plan.of_matrices(packed.right());
  const Product of_rows = plan.of_rows(packed.right());
  Panels many(split, of_matrices, *tiling), few(split, of_rows, *tiling);
  Var item = make_var("item");
  Stmt launches = plan.launches(item, many.item_count(), many.body(item), few.item_count(),
                                few.single_row(item));
  return LaunchPlan{packed.around(std::move(launches)), "cpu_gathered"};
}

}  // namespace

std::optional<LaunchPlan> cpu_gathered(const Stage& stage, const std::vector<Buffer>& weights,
                                       const target::VectorRegisters& vectors,
                                       const std::function<LaunchPlan(const Stage&)>& few_rows) {
  if (auto packed = with_packed_weights(stage, weights, vectors)) return packed;
  std::optional<GatheredProduct> found = find_gathered(stage);
  if (!found) return std::nullopt;
  const GatheredPlan plan(stage, *found);
  if (!plan.can_be_many()) return std::nullopt;
  const Product of_matrices = plan.of_matrices(found->right);
  const std::optional<Tiling> tiling = find_tiling(stage, of_matrices, plan.count(), vectors, 1);
  if (!tiling) return std::nullopt;
  Panels many(stage, of_matrices, *tiling);
  Var item = make_var("item");
  PrimExpr few_items = 0;
  Stmt few;
  if (plan.can_be_few()) {
    const LaunchPlan other = few_rows(stage);
    if (other.nest->kind != StmtKind::kFor) return std::nullopt;
    const auto& loop = as<ForNode>(other.nest);
    if (loop.for_kind != ForKind::kParallel) return std::nullopt;
    few_items = loop.extent;
    few = tir::substitute(loop.body, {{loop.var.get(), item}});
  }
  return LaunchPlan{plan.launches(item, many.item_count(), many.body(item), few_items, few),
                    "cpu_gathered"};
}

}  // namespace tapml::schedule
