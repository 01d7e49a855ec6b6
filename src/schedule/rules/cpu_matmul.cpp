#include <algorithm>

#include "arith/analyzer.h"
#include "schedule/rules/rules.h"
#include "tir/queries.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kRows = 4;     // of a full tile
constexpr int64_t kColumns = 4;  // accumulators: kRows * kColumns vectors fit the registers

// Whether the stage is a sum of products of an operand without the column and an operand with the
// column but no row, both contiguous along the reduction.
bool is_row_times_column(const Stage& stage) {
  if (!stage.simple || stage.reduction.size() != 1 || stage.spatial.size() < 2) return false;
  if (stage.value.kind() != ExprKind::kAdd) return false;
  const Var& k = stage.reduction[0].var;
  const Var& column = stage.spatial.back().var;
  std::vector<PrimExpr> loads;
  bool plain = true;
  visit_expr(stage.value, [&](const PrimExpr& e) {
    if (e.kind() == ExprKind::kSelect || e.kind() == ExprKind::kCall) plain = false;
    if (e.kind() == ExprKind::kLoad && load_buffer(e) != stage.out) loads.push_back(e);
  });
  if (!plain || loads.size() != 2) return false;
  bool has_left = false, has_right = false;
  for (const PrimExpr& load : loads) {
    if (load->operands.empty() || !load->operands.back().same_as(k)) return false;
    bool row = false;
    for (size_t i = 0; i + 1 < stage.spatial.size(); ++i) {
      row |= uses(load->operands, stage.spatial[i].var);
    }
    if (uses(load->operands, column)) {
      has_right |= !row;
    } else {
      has_left = true;
    }
  }
  return has_left && has_right;
}

class Tiles {
 public:
  explicit Tiles(const Stage& stage)
      : stage_(stage),
        row_iters_(stage.spatial.begin(), stage.spatial.end() - 1),
        column_(stage.spatial.back()),
        rows_(product(row_iters_)),
        columns_(column_.extent) {}

  Stmt build() {
    PrimExpr row_tiles = ceil_div(rows_, kRows), column_tiles = ceil_div(columns_, kColumns);
    Var item = make_var("item");
    arith::Analyzer analyzer;
    // Adjacent items share the weights' columns.
    PrimExpr first_column = floordiv(item, row_tiles) * kColumns;
    PrimExpr first_row = floormod(item, row_tiles) * kRows;
    PrimExpr extent = analyzer.simplify(row_tiles * column_tiles);
    PrimExpr full_columns = le(first_column + kColumns, columns_);
    if (columns_.is_int() && columns_->int_value % kColumns == 0) full_columns = make_bool(true);
    PrimExpr full_rows = le(first_row + kRows, rows_);
    auto rest_of_rows = [&](int64_t width, const PrimExpr& column) {
      Var row = make_var("row");
      return make_for(row, min(PrimExpr(kRows), rows_ - first_row),
                      tile(1, width, first_row + row, column));
    };
    Stmt wide = make_if(full_rows, tile(kRows, kColumns, first_row, first_column),
                        rest_of_rows(kColumns, first_column));
    if (full_columns.is_int(1)) {
      return make_for(item, extent, wide, ForKind::kParallel);
    }
    Var column = make_var("column");
    Stmt narrow = make_for(column, columns_ - first_column, rest_of_rows(1, first_column + column));
    return make_for(item, extent, make_if(full_columns, wide, narrow), ForKind::kParallel);
  }

 private:
  // The stage's value at (row, column) of the flat row space, with its element in `cell`.
  PrimExpr at(const PrimExpr& expr, const PrimExpr& row, const PrimExpr& column, const PrimExpr& k,
              const Buffer& accumulator, int64_t cell) {
    VarMap values = decode(row_iters_, row);
    values[column_.var.get()] = column;
    if (k) values[stage_.reduction[0].var.get()] = k;
    return rewrite_expr(tapml::substitute(expr, values), [&](const PrimExpr& e) {
      return is_load_of(e, stage_.out) ? load(accumulator, {cell}) : PrimExpr();
    });
  }

  Stmt tile(int64_t height, int64_t width, const PrimExpr& row, const PrimExpr& column) {
    Buffer accumulator =
        make_buffer(stage_.out->name + "_acc", stage_.out->dtype, {height * width}, Scope::kLocal);
    std::vector<Stmt> init, update, write;
    Var k = make_var(stage_.reduction[0].var->name);
    for (int64_t i = 0; i < height; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        int64_t cell = i * width + j;
        auto value = [&](const PrimExpr& expr, const PrimExpr& step) {
          return at(expr, row + i, column + j, step, accumulator, cell);
        };
        init.push_back(make_store(accumulator, {cell}, value(stage_.init_value, {})));
        update.push_back(make_store(accumulator, {cell}, value(stage_.value, k)));
        std::vector<PrimExpr> indices;
        for (const PrimExpr& index : stage_.final_indices) indices.push_back(value(index, {}));
        write.push_back(make_store(stage_.final_out, indices, value(stage_.final_value, {})));
      }
    }
    Stmt loop = make_for(k, stage_.reduction[0].extent, make_seq(update), ForKind::kVectorized);
    return make_alloc(accumulator, make_seq({make_seq(init), loop, make_seq(write)}));
  }

  const Stage& stage_;
  std::vector<BlockIter> row_iters_;
  BlockIter column_;
  PrimExpr rows_, columns_;
};

}  // namespace

std::optional<LaunchPlan> cpu_matmul(const Stage& stage) {
  if (!is_row_times_column(stage)) return std::nullopt;
  return LaunchPlan{Tiles(stage).build(), "cpu_matmul"};
}

}  // namespace tapml::schedule
