// Sums of products with enough rows to pay for packing: matrix products and convolutions.
#include <algorithm>

#include "schedule/rules/rules.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kPanelBytes = 65536;  // of packed elements: they stay in the second cache
constexpr int64_t kBlockBytes = 65536;  // of sums that an item keeps
constexpr int64_t kFewRows = 8;         // below, packing does not pay
constexpr int64_t kFewLanes = 8;
constexpr int64_t kLargestStep = 1024;  // reduction steps inside the outermost reduction loop

bool mentions(const PrimExpr& expr, const Var& var) {
  bool found = false;
  visit_expr(expr, [&](const PrimExpr& e) { found |= e.same_as(var); });
  return found;
}

bool reads(const PrimExpr& expr, const Buffer& buffer) {
  bool found = false;
  visit_expr(expr, [&](const PrimExpr& e) {
    found |= e.kind() == ExprKind::kLoad && load_buffer(e) == buffer;
  });
  return found;
}

PrimExpr ceil_div(const PrimExpr& a, int64_t b) { return floordiv(a + (b - 1), b); }

int64_t rounded_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// out[...] += left * right, where right has the lane (the last spatial iterator) and left has not.
// Rows are the iterators that only left has.
struct Product {
  PrimExpr left, right;
  std::vector<BlockIter> rows, outer;
  BlockIter lane;
};

std::optional<Product> find_product(const Stage& stage) {
  if (!stage.simple || !stage.reduces() || stage.spatial.size() < 2) return std::nullopt;
  if (stage.value.kind() != ExprKind::kAdd || !free_vars(stage.init_value).empty()) {
    return std::nullopt;
  }
  PrimExpr sum = stage.value.operand(0), term = stage.value.operand(1);
  if (sum.kind() != ExprKind::kLoad || load_buffer(sum) != stage.out) return std::nullopt;
  if (term.kind() != ExprKind::kMul || reads(term, stage.out)) return std::nullopt;
  Product product;
  product.lane = stage.spatial.back();
  product.left = term.operand(0);
  product.right = term.operand(1);
  if (mentions(product.left, product.lane.var)) std::swap(product.left, product.right);
  if (mentions(product.left, product.lane.var) || !mentions(product.right, product.lane.var)) {
    return std::nullopt;
  }
  for (size_t i = 0; i + 1 < stage.spatial.size(); ++i) {
    const BlockIter& iter = stage.spatial[i];
    bool only_left = mentions(product.left, iter.var) && !mentions(product.right, iter.var);
    (only_left ? product.rows : product.outer).push_back(iter);
  }
  return product;
}

// Extents of everything that is blocked.
struct Tiling {
  int64_t lanes;      // of a panel: a few vectors
  int64_t rows;       // of a register tile
  int64_t block;      // rows whose sums an item keeps; a multiple of `rows`
  int64_t steps;      // of the outermost reduction loop in a panel
  int64_t inner = 1;  // reduction steps inside each of these
  int64_t side;       // of the squares in which lanes and steps change places
};

std::optional<Tiling> find_tiling(const Stage& stage, const Product& product,
                                  const PrimExpr& row_count, int64_t vector_bytes) {
  Tiling t;
  int64_t bytes = dtype_bytes(stage.out->dtype);
  bool computes_in_lanes = is_float(stage.out->dtype) ? bytes >= 4 : bytes == 4;
  if (!computes_in_lanes) return std::nullopt;
  if (row_count.is_int() && row_count->int_value < kFewRows) return std::nullopt;
  const PrimExpr& lane_extent = product.lane.extent;
  if (lane_extent.is_int() && lane_extent->int_value < kFewLanes) return std::nullopt;
  for (size_t i = 1; i < stage.reduction.size(); ++i) {
    if (!stage.reduction[i].extent.is_int()) return std::nullopt;
    t.inner *= stage.reduction[i].extent->int_value;
  }
  if (t.inner < 1 || t.inner > kLargestStep) return std::nullopt;

  // The sums of a tile and one row of the panel fill the vector registers.
  int64_t vector = vector_bytes / bytes;
  t.side = vector;
  bool wide = vector_bytes >= 64;
  t.lanes = wide ? 4 * vector : 2 * vector;
  t.rows = 6;
  if (wide && lane_extent.is_int() && lane_extent->int_value <= 2 * vector) {
    bool one = lane_extent->int_value <= vector;
    t.lanes = one ? vector : 2 * vector;
    t.rows = 12;
  }
  t.block = kBlockBytes / (t.lanes * bytes);
  if (row_count.is_int()) {
    int64_t rows = row_count->int_value;
    t.rows = std::min(t.rows, rows);
    t.rows = (rows + (rows + t.rows - 1) / t.rows - 1) / ((rows + t.rows - 1) / t.rows);
    // Blocks of equal size.
    int64_t blocks = (rows + t.block - 1) / t.block;
    t.block = (rows + blocks - 1) / blocks;
  }
  t.block = rounded_up(t.block, t.rows);
  t.steps = std::max<int64_t>(1, kPanelBytes / (t.lanes * bytes * t.inner));
  const PrimExpr& steps = stage.reduction[0].extent;
  if (steps.is_int()) {
    int64_t blocks = std::max<int64_t>(1, (steps->int_value + t.steps - 1) / t.steps);
    t.steps = std::max<int64_t>(1, (steps->int_value + blocks - 1) / blocks);
    if (t.steps > t.side) t.steps = rounded_up(t.steps, t.side);
  }
  return t;
}

// One item: a block of rows by a panel of lanes. The panel's part of `right` is packed in pieces of
// the reduction; each piece meets all rows of the block in register tiles.
class Panels {
 public:
  Panels(const Stage& stage, const Product& product, const Tiling& tiling)
      : stage_(stage), product_(product), t_(tiling), rows_(schedule::product(product.rows)) {
    items_ = product.outer;
    items_.push_back(iterator("panel", ceil_div(product.lane.extent, t_.lanes)));
    items_.push_back(iterator("block", ceil_div(rows_, t_.block)));
    Dims panel_shape = {t_.steps};
    for (size_t i = 1; i < stage.reduction.size(); ++i) {
      panel_shape.push_back(stage.reduction[i].extent);
    }
    panel_shape.push_back(t_.lanes);
    const std::string& name = stage.out->name;
    panel_ = make_buffer(name + "_panel", product.right.dtype(), panel_shape, Scope::kLocal);
    sums_ = make_buffer(name + "_sums", stage.out->dtype, {t_.block, t_.lanes}, Scope::kLocal);
  }

  PrimExpr item_count() const { return schedule::product(items_); }

  Stmt body(const Var& item) {
    at_ = decode(items_, item);
    first_lane_ = at_.at(items_[items_.size() - 2].var.get()) * t_.lanes;
    first_row_ = at_.at(items_.back().var.get()) * t_.block;
    rows_here_ = at_most(t_.block, rows_, first_row_);
    tiles_ = rows_here_.is_int() ? PrimExpr((rows_here_->int_value + t_.rows - 1) / t_.rows)
                                 : ceil_div(rows_here_, t_.rows);
    const PrimExpr& steps = stage_.reduction[0].extent;
    Var piece = make_var("piece");
    first_step_ = piece * t_.steps;
    steps_here_ = at_most(t_.steps, steps, first_step_);
    Stmt pieces = make_for(piece, ceil_div(steps, t_.steps), make_seq({pack(), multiply()}));
    return make_alloc(sums_, make_alloc(panel_, make_seq({clear(), pieces, write()})));
  }

 private:
  static BlockIter iterator(const char* name, PrimExpr extent) {
    return {make_var(name), std::move(extent), IterType::kSpatial, {}};
  }

  // The lesser of `size` and what of `extent` is left behind `first`.
  static PrimExpr at_most(int64_t size, const PrimExpr& extent, const PrimExpr& first) {
    if (extent.is_int() && extent->int_value % size == 0) return size;
    return min(PrimExpr(size), extent - first);
  }

  Stmt lanes(const PrimExpr& extent, const std::function<Stmt(const Var&)>& body) const {
    Var lane = make_var(product_.lane.var->name);
    return make_for(lane, extent, body(lane), ForKind::kVectorized);
  }

  // Loops over the reduction steps of the piece; `values` learns their variables, `index` is the
  // panel's.
  Stmt steps(VarMap& values, const std::function<Stmt(std::vector<PrimExpr> index)>& body) const {
    std::vector<Var> vars;
    std::vector<PrimExpr> index;
    for (size_t i = 0; i < stage_.reduction.size(); ++i) {
      const Var& var = stage_.reduction[i].var;
      vars.push_back(make_var(var->name));
      values[var.get()] = i == 0 ? first_step_ + vars[i] : PrimExpr(vars[i]);
      index.push_back(vars[i]);
    }
    Stmt loops = body(index);
    for (size_t i = vars.size(); i-- > 0;) {
      loops = make_for(vars[i], i == 0 ? steps_here_ : stage_.reduction[i].extent, loops);
    }
    return loops;
  }

  Stmt clear() const {
    Var row = make_var("row");
    return make_for(row, tiles_ * t_.rows, lanes(t_.lanes, [&](const Var& lane) {
                      return make_store(sums_, {row, lane}, stage_.init_value);
                    }));
  }

  // Element of `right` at a lane of the panel; beyond the last lane (unless the panel is `whole`)
  // 0.
  PrimExpr packed_value(VarMap values, const PrimExpr& lane, bool whole) const {
    PrimExpr position = first_lane_ + lane;
    values[product_.lane.var.get()] = position;
    PrimExpr value = tapml::substitute(product_.right, values);
    if (whole) return value;
    DType dtype = value.dtype();
    PrimExpr zero = is_float(dtype) ? make_float(0, dtype) : make_int(0, dtype);
    return select(lt(position, product_.lane.extent), value, zero);
  }

  Stmt pack_along_lanes(bool whole) const {
    VarMap values = at_;
    return steps(values, [&](std::vector<PrimExpr> index) {
      return lanes(t_.lanes, [&](const Var& lane) {
        index.push_back(lane);
        return make_store(panel_, index, packed_value(values, lane, whole));
      });
    });
  }

  // Memory runs along the reduction: square tiles change their order in registers; what does not
  // fill one goes line by line.
  Stmt pack_along_steps(bool whole) const {
    Var chunk = make_var("chunk"), group = make_var("group");
    const PrimExpr steps_in_chunk = at_most(t_.side, steps_here_, chunk * t_.side);
    auto square = [&](const PrimExpr& steps, ForKind lanes_kind, ForKind steps_kind) {
      Var lane = make_var(product_.lane.var->name), step = make_var("step");
      PrimExpr at = chunk * t_.side + step, lane_at = group * t_.side + lane;
      VarMap values = at_;
      values[stage_.reduction[0].var.get()] = first_step_ + at;
      Stmt element = make_store(panel_, {at, lane_at}, packed_value(values, lane_at, whole));
      return make_for(lane, t_.side, make_for(step, steps, element, steps_kind), lanes_kind);
    };
    Stmt lines = square(steps_in_chunk, ForKind::kSerial, ForKind::kSerial);
    Stmt tile = lines;
    if (whole) {
      tile = square(t_.side, ForKind::kVectorized, ForKind::kUnrolled);
      if (!steps_in_chunk.is_int(t_.side)) {
        tile = make_if(le(PrimExpr(t_.side), steps_in_chunk), tile, lines);
      }
    }
    return make_for(chunk, ceil_div(steps_here_, t_.side),
                    make_for(group, t_.lanes / t_.side, tile));
  }

  bool runs_along_steps() const {
    if (stage_.reduction.size() != 1) return false;
    bool along = false;
    visit_expr(product_.right, [&](const PrimExpr& e) {
      along |= e.kind() == ExprKind::kLoad && !e->operands.empty() &&
               e->operands.back().same_as(stage_.reduction[0].var);
    });
    return along;
  }

  Stmt pack() const {
    bool along = runs_along_steps();
    auto packed = [&](bool whole) {
      return along ? pack_along_steps(whole) : pack_along_lanes(whole);
    };
    const PrimExpr& extent = product_.lane.extent;
    if (extent.is_int() && extent->int_value % t_.lanes == 0) return packed(true);
    if (extent.is_int() && extent->int_value < t_.lanes) return packed(false);
    return make_if(le(first_lane_ + t_.lanes, extent), packed(true), packed(false));
  }

  Stmt multiply() const {
    Var tile = make_var("tile");
    Buffer registers = make_buffer(stage_.out->name + "_tile", stage_.out->dtype,
                                   {t_.rows * t_.lanes}, Scope::kLocal);
    auto for_rows = [&](const std::function<Stmt(int64_t row, const Var& lane)>& body) {
      return lanes(t_.lanes, [&](const Var& lane) {
        std::vector<Stmt> stmts;
        for (int64_t row = 0; row < t_.rows; ++row) stmts.push_back(body(row, lane));
        return make_seq(std::move(stmts));
      });
    };
    auto cell = [&](int64_t row, const Var& lane) { return PrimExpr(lane) + row * t_.lanes; };
    auto kept = [&](int64_t row) { return PrimExpr(tile) * t_.rows + row; };
    Stmt load_tile = for_rows([&](int64_t row, const Var& lane) {
      return make_store(registers, {cell(row, lane)}, load(sums_, {kept(row), lane}));
    });
    Stmt store_tile = for_rows([&](int64_t row, const Var& lane) {
      return make_store(sums_, {kept(row), lane}, load(registers, {cell(row, lane)}));
    });
    VarMap values = at_;
    Stmt update = steps(values, [&](const std::vector<PrimExpr>& index) {
      return for_rows([&](int64_t row, const Var& lane) {
        std::vector<PrimExpr> element = index;
        element.push_back(lane);
        PrimExpr left = tapml::substitute(product_.left, at_row(values, kept(row), true));
        PrimExpr sum = load(registers, {cell(row, lane)}) + left * load(panel_, element);
        return make_store(registers, {cell(row, lane)}, sum);
      });
    });
    return make_for(tile, tiles_, make_alloc(registers, make_seq({load_tile, update, store_tile})));
  }

  Stmt write() const {
    Var row = make_var("row");
    VarMap values = at_row(at_, row, false);
    PrimExpr count = at_most(t_.lanes, product_.lane.extent, first_lane_);
    return make_for(row, rows_here_, lanes(count, [&](const Var& lane) {
                      VarMap inner = values;
                      inner[product_.lane.var.get()] = first_lane_ + lane;
                      auto expr = [&](const PrimExpr& e) {
                        return rewrite_expr(tapml::substitute(e, inner), [&](const PrimExpr& part) {
                          bool own =
                              part.kind() == ExprKind::kLoad && load_buffer(part) == stage_.out;
                          return own ? load(sums_, {row, lane}) : PrimExpr();
                        });
                      };
                      std::vector<PrimExpr> indices;
                      for (const PrimExpr& index : stage_.final_indices)
                        indices.push_back(expr(index));
                      return make_store(stage_.final_out, indices, expr(stage_.final_value));
                    }));
  }

  // `values` with the row iterators at row `row` of the block. A tile may reach over the last row:
  // what it reads is clamped, what it computes there is never written.
  VarMap at_row(VarMap values, const PrimExpr& row, bool clamped) const {
    PrimExpr position = first_row_ + row;
    bool exact = rows_.is_int() && rows_->int_value % t_.block == 0 && t_.block % t_.rows == 0;
    if (clamped && !exact) position = min(position, rows_ - 1);
    for (const auto& [var, value] : decode(product_.rows, position)) values[var] = value;
    return values;
  }

  const Stage& stage_;
  const Product& product_;
  Tiling t_;
  PrimExpr rows_;
  std::vector<BlockIter> items_;
  Buffer panel_, sums_;
  VarMap at_;
  PrimExpr first_lane_, first_row_, first_step_, rows_here_, steps_here_, tiles_;
};

}  // namespace

std::optional<LaunchPlan> cpu_product(const Stage& stage, int64_t vector_bytes,
                                      const std::function<LaunchPlan(const Stage&)>& few_rows) {
  std::optional<Product> found = find_product(stage);
  if (!found || found->rows.empty()) return std::nullopt;
  PrimExpr rows = product(found->rows);
  std::optional<Tiling> tiling = find_tiling(stage, *found, rows, vector_bytes);
  if (!tiling) return std::nullopt;
  Panels panels(stage, *found, *tiling);
  Var item = make_var("item");
  Stmt many = panels.body(item);
  PrimExpr count = panels.item_count();
  if (rows.is_int()) {
    return LaunchPlan{make_for(item, count, many, ForKind::kParallel), "cpu_product"};
  }
  // The number of rows decides when the launch runs: one extent, two bodies.
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
