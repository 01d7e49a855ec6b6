// Sums of products on work groups.
#include <algorithm>

#include "base/rounding.h"
#include "schedule/rules/access.h"
#include "schedule/rules/gpu_products.h"
#include "schedule/rules/rules.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kTileRows = 16;    // sums of a thread: rows times columns
constexpr int64_t kTileColumns = 2;  // of a thread, spaced by the number of threads in the group
constexpr int64_t kTileSteps = 16;   // of the sum between barriers
constexpr int64_t kLeastColumns = 16;
constexpr int64_t kLeastRows = 4;  // with fewer rows, threads split each sum instead

PrimExpr zero_of(DType dtype) {
  return is_float(dtype) ? make_float(0, dtype) : make_int(0, dtype);
}

// Whether the operand's memory is contiguous along `var`.
bool operand_runs_along(const Stage& stage, const PrimExpr& operand, const Var& var) {
  Stage alone = stage;
  alone.value = operand;
  return runs_along(alone, var);
}

class ProductTiles {
 public:
  ProductTiles(const Stage& stage, const Product& product, const Group& group)
      : stage_(stage),
        product_(product),
        group_(group),
        rows_(schedule::product(product.rows)),
        columns_(product.lane.extent),
        steps_(reduction_steps(stage)) {
    if (rows_.is_int()) {
      // Tiles of equal height.
      const int64_t tiles = std::max<int64_t>(1, ceil_div(rows_->int_value, kTileRows));
      tile_rows_ = std::max<int64_t>(1, ceil_div(rows_->int_value, tiles));
    }
    if (columns_.is_int() && columns_->int_value <= group.threads) tile_columns_ = 1;
    width_ = tile_columns_ * group.threads;
    right_along_steps_ = operand_runs_along(stage, product.right, stage.reduction.back().var) &&
                         !operand_runs_along(stage, product.right, product.lane.var);
    left_along_rows_ =
        !product.rows.empty() && operand_runs_along(stage, product.left, product.rows.back().var);
    const std::string& name = stage.out->name;
    left_ =
        make_buffer(name + "_left", product.left.dtype(), {kTileSteps, tile_rows_}, Scope::kShared);
    // One padding column: threads that store a line of the right operand avoid bank conflicts.
    right_ = make_buffer(name + "_right", product.right.dtype(), {kTileSteps, width_ + 1},
                         Scope::kShared);
    sums_ =
        make_buffer(name + "_sums", stage.out->dtype, {tile_rows_, tile_columns_}, Scope::kLocal);
    column_ = make_buffer(name + "_column", product.right.dtype(), {tile_columns_}, Scope::kLocal);
  }

  GroupWork build() {
    GroupWork work;
    work.item = make_var("tile");
    std::vector<BlockIter> items = product_.outer;
    items.push_back({make_var("columns"), ceil_div(columns_, width_), IterType::kSpatial, {}});
    items.push_back({make_var("rows"), ceil_div(rows_, tile_rows_), IterType::kSpatial, {}});
    work.count = schedule::product(items);
    at_ = decode(items, work.item);
    first_row_ = at_.at(items.back().var.get()) * tile_rows_;
    first_column_ = at_.at(items[items.size() - 2].var.get()) * width_;
    work.shared = {left_};
    if (right_along_steps_) work.shared.push_back(right_);

    Var piece = make_var("piece");
    first_step_ = piece * kTileSteps;
    std::vector<Stmt> stmts = {fill_left()};
    if (right_along_steps_) stmts.push_back(fill_right());
    stmts.insert(stmts.end(), {make_barrier(), multiply(), make_barrier()});
    Stmt pieces = make_for(piece, ceil_div(steps_, kTileSteps), make_seq(std::move(stmts)));
    work.body = make_alloc(sums_, make_seq({clear(), pieces, write()}));
    return work;
  }

 private:
  static Stmt unrolled(const char* name, int64_t extent,
                       const std::function<Stmt(const PrimExpr&)>& body) {
    if (extent == 1) return body(0);
    Var var = make_var(name);
    return make_for(var, extent, body(var), ForKind::kUnrolled);
  }

  Stmt each_sum(const std::function<Stmt(const PrimExpr& row, const PrimExpr& column)>& body) {
    return unrolled("row", tile_rows_, [&](const PrimExpr& row) {
      return unrolled("column", tile_columns_,
                      [&](const PrimExpr& column) { return body(row, column); });
    });
  }

  // `value` if the index is below `extent`, otherwise 0; unguarded if pieces of `size` divide it.
  static PrimExpr inside(const PrimExpr& index, const PrimExpr& extent, int64_t size,
                         const PrimExpr& value) {
    if (extent.is_int() && extent->int_value % size == 0) return value;
    return select(lt(index, extent), value, zero_of(value.dtype()));
  }

  PrimExpr operand(const PrimExpr& expr, const PrimExpr& row, const PrimExpr& column,
                   const PrimExpr& step) const {
    VarMap values = at_;
    if (row) values.merge(decode(product_.rows, row));
    if (column) values[product_.lane.var.get()] = column;
    decode_reduction(stage_, step, values);
    return value_at(expr, stage_, values, {});
  }

  Stmt fill_left() const {
    return group_.share_out(kTileSteps * tile_rows_, [&](const PrimExpr& index) {
      PrimExpr step = left_along_rows_ ? floordiv(index, tile_rows_) : floormod(index, kTileSteps);
      PrimExpr row = left_along_rows_ ? floormod(index, tile_rows_) : floordiv(index, kTileSteps);
      PrimExpr value = operand(product_.left, first_row_ + row, {}, first_step_ + step);
      value = inside(first_step_ + step, steps_, kTileSteps, value);
      value = inside(first_row_ + row, rows_, tile_rows_, value);
      return make_store(left_, {step, row}, value);
    });
  }

  Stmt fill_right() const {
    return group_.share_out(kTileSteps * width_, [&](const PrimExpr& index) {
      PrimExpr step = floormod(index, kTileSteps), column = floordiv(index, kTileSteps);
      PrimExpr value = operand(product_.right, {}, first_column_ + column, first_step_ + step);
      value = inside(first_step_ + step, steps_, kTileSteps, value);
      value = inside(first_column_ + column, columns_, width_, value);
      return make_store(right_, {step, column}, value);
    });
  }

  PrimExpr column_of(const PrimExpr& number) const {
    return number * group_.threads + group_.thread;
  }

  Stmt clear() {
    return each_sum([&](const PrimExpr& row, const PrimExpr& column) {
      return make_store(sums_, {row, column}, stage_.init_value);
    });
  }

  Stmt multiply() {
    Var step = make_var("step");
    Stmt read = unrolled("column", tile_columns_, [&](const PrimExpr& number) {
      PrimExpr value;
      if (right_along_steps_) {
        value = load(right_, {step, column_of(number)});
      } else {
        PrimExpr column = first_column_ + column_of(number);
        const bool whole = columns_.is_int() && columns_->int_value % width_ == 0;
        value = operand(product_.right, {}, whole ? column : min(column, columns_ - 1),
                        first_step_ + step);
      }
      return make_store(column_, {number}, value);
    });
    Stmt add = each_sum([&](const PrimExpr& row, const PrimExpr& column) {
      return make_store(
          sums_, {row, column},
          load(sums_, {row, column}) + load(left_, {step, row}) * load(column_, {column}));
    });
    Stmt body = make_alloc(column_, make_seq({read, add}));
    Stmt whole = make_for(step, kTileSteps, body);
    if (steps_.is_int() && steps_->int_value % kTileSteps == 0) return whole;
    Stmt rest = make_for(step, min(PrimExpr(kTileSteps), steps_ - first_step_), body);
    return make_if(le(first_step_ + kTileSteps, steps_), whole, refresh_vars(rest));
  }

  Stmt write() {
    return each_sum([&](const PrimExpr& row, const PrimExpr& number) {
      PrimExpr at_row = first_row_ + row, column = first_column_ + column_of(number);
      VarMap values = at_;
      values.merge(decode(product_.rows, at_row));
      values[product_.lane.var.get()] = column;
      return make_if(logical_and(lt(at_row, rows_), lt(column, columns_)),
                     store_final(stage_, values, load(sums_, {row, number})));
    });
  }

  const Stage& stage_;
  const Product& product_;
  const Group& group_;
  PrimExpr rows_, columns_, steps_;
  int64_t tile_rows_ = kTileRows, tile_columns_ = kTileColumns, width_ = 0;
  bool right_along_steps_ = false, left_along_rows_ = false;
  Buffer left_, right_, sums_, column_;
  VarMap at_;
  PrimExpr first_row_, first_column_, first_step_;
};

bool multiplies_in_registers(DType dtype) {
  return is_float(dtype) ? dtype_bytes(dtype) >= 4 : dtype_bytes(dtype) == 4;
}

}  // namespace

std::optional<GroupWork> many_row_product(const Stage& stage, const Product& product,
                                          const Group& group) {
  if (product.rows.empty() || !multiplies_in_registers(stage.out->dtype)) return std::nullopt;
  const PrimExpr& columns = product.lane.extent;
  if (columns.is_int() && columns->int_value < kLeastColumns) return std::nullopt;
  const PrimExpr rows = schedule::product(product.rows);
  if (rows.is_int() && rows->int_value < kLeastRows) return std::nullopt;
  GroupWork work = ProductTiles(stage, product, group).build();
  if (work.local_bytes() > group.local_bytes) return std::nullopt;
  return work;
}

std::optional<LaunchPlan> gpu_product(const Stage& stage, const Group& group) {
  std::optional<Product> product = find_product(stage);
  if (!product) return std::nullopt;
  auto few = few_row_product(stage, group);
  auto many = many_row_product(stage, *product, group);
  if (!many) {
    if (!few) return std::nullopt;
    return LaunchPlan{launch_groups(group, *few), "gpu_vector_matrix"};
  }
  const PrimExpr rows = schedule::product(product->rows);
  if (rows.is_int() || !few || few->local_bytes() + many->local_bytes() > group.local_bytes) {
    return LaunchPlan{launch_groups(group, *many), "gpu_matmul"};
  }
  // The number of rows selects the body at run time: one loop over groups, two bodies.
  PrimExpr is_many = min(max(rows - (kLeastRows - 1), PrimExpr(0)), PrimExpr(1));
  GroupWork both = *many;
  both.count = many->count * is_many + few->count * (PrimExpr(1) - is_many);
  both.shared.insert(both.shared.end(), few->shared.begin(), few->shared.end());
  Stmt few_body = tir::substitute(few->body, {{few->item.get(), both.item}});
  both.body = make_if(lt(rows, kLeastRows), few_body, many->body);
  return LaunchPlan{launch_groups(group, both), "gpu_matmul"};
}

}  // namespace tapml::schedule
