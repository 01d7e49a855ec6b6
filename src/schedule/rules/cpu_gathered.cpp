// Products of rows with matrices that each row chooses, as in mixtures of experts.
#include <optional>

#include "ir/queries.h"
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"
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

}  // namespace

std::optional<LaunchPlan> cpu_gathered(const Stage& stage, const target::VectorRegisters& vectors,
                                       const std::function<LaunchPlan(const Stage&)>& few_rows) {
  std::optional<GatheredProduct> found = find_gathered(stage);
  if (!found) return std::nullopt;
  const SortedRows sorted(stage, *found);
  const int64_t least = kRowsForEach * found->matrix.extent->int_value;
  if (sorted.count().is_int() && sorted.count()->int_value < least) return std::nullopt;

  // One more matrix for the rows without one, whose sums stay empty.
  BlockIter matrix = found->matrix;
  matrix.extent = matrix.extent + 1;
  const Product product{
      .left = found->left,
      .right = found->right,
      .rows = std::vector(stage.spatial.begin(), stage.spatial.end() - 1),
      .outer = {matrix},
      .lane = stage.spatial.back(),
      .row_count = sorted.end(matrix.var) - sorted.begin(matrix.var),
      .exists = lt(matrix.var, found->matrix.extent),
      .row_at = [&](const PrimExpr& place) { return sorted.at(sorted.begin(matrix.var) + place); }};
  const std::optional<Tiling> tiling = find_tiling(stage, product, sorted.count(), vectors, 1);
  if (!tiling) return std::nullopt;
  Panels panels(stage, product, *tiling);
  Var item = make_var("item");
  Stmt many = panels.body(item);
  PrimExpr count = panels.item_count();
  PrimExpr sorts = 1;
  if (!sorted.count().is_int()) {
    LaunchPlan other = few_rows(stage);
    if (other.nest->kind != StmtKind::kFor) return std::nullopt;
    const auto& loop = as<ForNode>(other.nest);
    if (loop.for_kind != ForKind::kParallel) return std::nullopt;
    sorts = min(max(sorted.count() - (least - 1), PrimExpr(0)), PrimExpr(1));
    count = count * sorts + loop.extent * (PrimExpr(1) - sorts);
    many = make_if(lt(sorted.count(), least), tir::substitute(loop.body, {{loop.var.get(), item}}),
                   many);
  }
  Stmt sort = make_for(make_var("item"), sorts, sorted.sort(), ForKind::kParallel);
  Stmt multiply = make_for(item, count, many, ForKind::kParallel);
  return LaunchPlan{sorted.around(make_seq({sort, multiply})), "cpu_gathered"};
}

}  // namespace tapml::schedule
