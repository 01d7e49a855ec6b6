#include "schedule/rules/panels.h"

#include <algorithm>

#include "base/rounding.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kPanelBytes = 65536;  // of packed elements: they fit in the L2 cache
constexpr int64_t kBlockBytes = 65536;  // of the sums that an item keeps
constexpr int64_t kFewLanes = 8;
constexpr int64_t kVectorsInARow = 4, kMostRows = 12;  // in a tile
constexpr int64_t kLargestStep = 1024;  // reduction steps inside the outermost reduction loop

BlockIter iterator(const char* name, PrimExpr extent) {
  return {make_var(name), std::move(extent), IterType::kSpatial, {}};
}

// The minimum of `size` and what remains of `extent` after `first`.
PrimExpr at_most(int64_t size, const PrimExpr& extent, const PrimExpr& first) {
  if (extent.is_int() && extent->int_value % size == 0) return size;
  return min(PrimExpr(size), extent - first);
}

// The stored form of `right`: the narrow value if `right` widens one.
PrimExpr kept_of(const PrimExpr& right) {
  if (right.kind() != ExprKind::kCast) return right;
  const PrimExpr& narrow = right.operand(0);
  return dtype_bytes(narrow.dtype()) < dtype_bytes(right.dtype()) ? narrow : right;
}

}  // namespace

std::optional<Product> find_product(const Stage& stage) {
  if (!stage.simple || !stage.reduces() || stage.spatial.empty()) return std::nullopt;
  if (stage.value.kind() != ExprKind::kAdd || !free_vars(stage.init_value).empty()) {
    return std::nullopt;
  }
  PrimExpr sum = stage.value.operand(0), term = stage.value.operand(1);
  if (!is_load_of(sum, stage.out)) return std::nullopt;
  if (term.kind() != ExprKind::kMul || reads(term, stage.out)) return std::nullopt;
  Product product;
  product.lane = stage.spatial.back();
  product.left = term.operand(0);
  product.right = term.operand(1);
  if (uses(product.left, product.lane.var)) std::swap(product.left, product.right);
  if (uses(product.left, product.lane.var) || !uses(product.right, product.lane.var)) {
    return std::nullopt;
  }
  for (size_t i = 0; i + 1 < stage.spatial.size(); ++i) {
    const BlockIter& iter = stage.spatial[i];
    bool only_left = uses(product.left, iter.var) && !uses(product.right, iter.var);
    (only_left ? product.rows : product.outer).push_back(iter);
  }
  return product;
}

std::optional<Tiling> find_tiling(const Stage& stage, const Product& product,
                                  const PrimExpr& row_count, const target::VectorRegisters& vectors,
                                  int64_t least_rows) {
  Tiling t;
  int64_t bytes = dtype_bytes(stage.out->dtype);
  bool computes_in_lanes = is_float(stage.out->dtype) ? bytes >= 4 : bytes == 4;
  if (!computes_in_lanes) return std::nullopt;
  if (row_count.is_int() && row_count->int_value < least_rows) return std::nullopt;
  const PrimExpr& lane_extent = product.lane.extent;
  if (lane_extent.is_int() && lane_extent->int_value < kFewLanes) return std::nullopt;
  for (size_t i = 1; i < stage.reduction.size(); ++i) {
    if (!stage.reduction[i].extent.is_int()) return std::nullopt;
    t.inner *= stage.reduction[i].extent->int_value;
  }
  if (t.inner < 1 || t.inner > kLargestStep) return std::nullopt;

  // The sums of a tile fill three quarters of the vector registers, which leaves the rest for a row
  // of the panel. Four vectors a row keep the units busy even with one row.
  int64_t vector = vectors.bytes / bytes;
  t.side = vector;
  int64_t in_a_row = kVectorsInARow;
  if (lane_extent.is_int()) {
    while (in_a_row > 1 && lane_extent->int_value <= in_a_row / 2 * vector) in_a_row /= 2;
  }
  t.lanes = in_a_row * vector;
  t.rows = std::min(vectors.count * 3 / 4 / in_a_row, kMostRows);
  t.block = kBlockBytes / (t.lanes * bytes);
  if (row_count.is_int()) {
    int64_t rows = row_count->int_value;
    t.rows = std::min(t.rows, rows);
    t.rows = ceil_div(rows, ceil_div(rows, t.rows));
    // Use blocks of equal size.
    int64_t blocks = ceil_div(rows, t.block);
    t.block = ceil_div(rows, blocks);
  }
  t.block = round_up(t.block, t.rows);
  t.steps = std::max<int64_t>(1, kPanelBytes / (t.lanes * bytes * t.inner));
  const PrimExpr& steps = stage.reduction[0].extent;
  if (steps.is_int()) {
    int64_t blocks = std::max<int64_t>(1, ceil_div(steps->int_value, t.steps));
    t.steps = std::max<int64_t>(1, ceil_div(steps->int_value, blocks));
    if (t.steps > t.side) t.steps = round_up(t.steps, t.side);
  }
  return t;
}

Panels::Panels(const Stage& stage, const Product& product, const Tiling& tiling, Buffer packed)
    : stage_(stage),
      product_(product),
      t_(tiling),
      most_rows_(schedule::product(product.rows)),
      rows_(most_rows_),
      packed_(std::move(packed)) {
  items_ = product.outer;
  items_.push_back(iterator("panel", ceil_div(product.lane.extent, t_.lanes)));
  items_.push_back(iterator("block", ceil_div(most_rows_, t_.block)));
  Dims panel_shape = {t_.steps};
  for (size_t i = 1; i < stage.reduction.size(); ++i) {
    panel_shape.push_back(stage.reduction[i].extent);
  }
  panel_shape.push_back(t_.lanes);
  const std::string& name = stage.out->name;
  panel_ = make_buffer(name + "_panel", product.right.dtype(), panel_shape, Scope::kLocal);
  sums_ = make_buffer(name + "_sums", stage.out->dtype, {t_.block, t_.lanes}, Scope::kLocal);
}

Buffer Panels::packed_buffer(const Stage& stage, const Product& product, const Tiling& tiling) {
  const int64_t lanes = product.lane.extent->int_value;
  Dims shape = {ceil_div(lanes, tiling.lanes)};
  for (const BlockIter& iter : stage.reduction) shape.push_back(iter.extent);
  shape.push_back(tiling.lanes);
  return make_buffer(stage.out->name + "_packed", kept_of(product.right).dtype(), shape,
                     Scope::kGlobal);
}

// Sets the iterators that the item determines.
void Panels::start(const Var& item) {
  at_ = decode(items_, item);
  if (product_.row_count) rows_ = tapml::substitute(product_.row_count, at_);
  panel_number_ = at_.at(items_[items_.size() - 2].var.get());
  first_lane_ = panel_number_ * t_.lanes;
  first_row_ = at_.at(items_.back().var.get()) * t_.block;
}

Stmt Panels::body(const Var& item) {
  start(item);
  panel_rows_ = at_most(t_.block, rows_, first_row_);
  tiles_ = panel_rows_.is_int() ? PrimExpr(ceil_div(panel_rows_->int_value, t_.rows))
                                : ceil_div(panel_rows_, t_.rows);
  const PrimExpr& steps = stage_.reduction[0].extent;
  Var piece = make_var("piece");
  first_step_ = piece * t_.steps;
  panel_steps_ = at_most(t_.steps, steps, first_step_);
  const bool is_there = packed_ && packed_->dtype == panel_->dtype;
  Stmt part = is_there ? multiply() : make_seq({packed_ ? unpack() : pack(), multiply()});
  Stmt pieces = make_for(piece, ceil_div(steps, t_.steps), part);
  if (product_.exists) pieces = make_if(tapml::substitute(product_.exists, at_), pieces);
  Stmt all = make_seq({clear(), pieces, write()});
  if (product_.row_count) all = make_if(lt(first_row_, rows_), all);
  return make_alloc(sums_, is_there ? all : make_alloc(panel_, all));
}

Stmt Panels::single_row(const Var& item) {
  start(item);
  first_row_ = 0;
  first_step_ = 0;
  panel_steps_ = stage_.reduction[0].extent;
  panel_rows_ = 1;
  tiles_ = 1;
  const Buffer block_sums = sums_;
  sums_ = make_buffer(stage_.out->name + "_row", stage_.out->dtype, {1, t_.lanes}, Scope::kLocal);
  Stmt zero = lanes(
      t_.lanes, [&](const Var& lane) { return make_store(sums_, {0, lane}, stage_.init_value); });
  const Factors right_is = factors_of_right();
  const Buffer sums = right_is.group ? make_buffer(stage_.out->name + "_group", stage_.out->dtype,
                                                   {1, t_.lanes}, Scope::kLocal)
                                     : sums_;
  VarMap values;
  const auto update_of = [&](std::vector<PrimExpr> index) {
    PrimExpr left = tapml::substitute(product_.left, values);
    return lanes(t_.lanes, [&](const Var& lane) {
      index.push_back(lane);
      PrimExpr right = packed_ ? cast(product_.right.dtype(), load(packed_, packed_index(index)))
                               : at_lane(right_is.element, values, lane);
      return make_store(sums, {0, lane}, load(sums, {0, lane}) + left * right);
    });
  };
  const auto group = [&](Stmt inner) {
    Stmt none = lanes(t_.lanes, [&](const Var& lane) {
      return make_store(sums, {0, lane}, make_float(0, sums->dtype));
    });
    Stmt add = lanes(t_.lanes, [&](const Var& lane) {
      PrimExpr part = load(sums, {0, lane}) * at_lane(right_is.group, values, lane);
      return make_store(sums_, {0, lane}, load(sums_, {0, lane}) + part);
    });
    return make_alloc(sums, make_seq({none, std::move(inner), add}));
  };
  Stmt update = with_rows(1, 0, false, [&](const RowValues& at) {
    values = at(at_, 0);
    return right_is.group ? steps(values, update_of, group) : steps(values, update_of);
  });
  if (product_.exists) update = make_if(tapml::substitute(product_.exists, at_), update);
  Stmt row = make_alloc(sums_, make_seq({zero, update, write()}));
  sums_ = block_sums;
  return row;
}

Stmt Panels::pack_all() {
  const PrimExpr& steps = stage_.reduction[0].extent;
  BlockIter panel = iterator("panel", packed_->shape[0]);
  BlockIter piece = iterator("piece", ceil_div(steps, t_.steps));
  Var item = make_var("item");
  at_ = decode({panel, piece}, item);
  panel_number_ = at_.at(panel.var.get());
  first_lane_ = panel_number_ * t_.lanes;
  first_step_ = at_.at(piece.var.get()) * t_.steps;
  panel_steps_ = at_most(t_.steps, steps, first_step_);
  filling_ = true;
  Stmt fill = pack();
  filling_ = false;
  return make_for(item, schedule::product({panel, piece}), fill, ForKind::kParallel);
}

Stmt Panels::lanes(const PrimExpr& extent, const std::function<Stmt(const Var&)>& body) const {
  Var lane = make_var(product_.lane.var->name);
  return make_for(lane, extent, body(lane), ForKind::kVectorized);
}

// Loops over the reduction steps of the piece. Sets the iterators in `values`; `index` is the index
// in the panel. `group`, if given, makes the body of the outermost inner loop.
Stmt Panels::steps(VarMap& values, const std::function<Stmt(std::vector<PrimExpr> index)>& body,
                   const std::function<Stmt(Stmt inner)>& group) const {
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
    if (i == 0 && group) loops = group(std::move(loops));
    loops = make_for(vars[i], i == 0 ? panel_steps_ : stage_.reduction[i].extent, loops);
  }
  return loops;
}

Stmt Panels::clear() const {
  Var row = make_var("row");
  return make_for(row, tiles_ * t_.rows, lanes(t_.lanes, [&](const Var& lane) {
                    return make_store(sums_, {row, lane}, stage_.init_value);
                  }));
}

// A scale of quantized weights multiplies the sum of its group once, not each element.
Panels::Factors Panels::factors_of_right() const {
  const PrimExpr& right = product_.right;
  const bool suits = !packed_ && t_.inner > 1 && right.kind() == ExprKind::kMul &&
                     right.dtype() == stage_.out->dtype && is_float(right.dtype());
  if (!suits) return {{}, right};
  for (const size_t side : {1, 0}) {
    bool varies = false;
    for (size_t i = 1; i < stage_.reduction.size(); ++i) {
      varies |= uses(right.operand(side), stage_.reduction[i].var);
    }
    if (!varies) return {right.operand(side), right.operand(1 - side)};
  }
  return {{}, right};
}

PrimExpr Panels::at_lane(const PrimExpr& expr, VarMap values, const PrimExpr& lane) const {
  values[product_.lane.var.get()] = first_lane_ + lane;
  return tapml::substitute(expr, values);
}

// The element of `right` at a lane of the panel; 0 past the last lane unless the panel is `whole`.
PrimExpr Panels::packed_value(const VarMap& values, const PrimExpr& lane, bool whole) const {
  PrimExpr value = at_lane(filling_ ? kept_of(product_.right) : product_.right, values, lane);
  if (whole) return value;
  DType dtype = value.dtype();
  PrimExpr zero = is_float(dtype) ? make_float(0, dtype) : make_int(0, dtype);
  return select(lt(first_lane_ + lane, product_.lane.extent), value, zero);
}

// Converts an index in one panel to an index in all panels.
std::vector<PrimExpr> Panels::packed_index(const std::vector<PrimExpr>& index) const {
  std::vector<PrimExpr> all = {panel_number_, first_step_ + index[0]};
  all.insert(all.end(), index.begin() + 1, index.end());
  return all;
}

Stmt Panels::put(const std::vector<PrimExpr>& index, const PrimExpr& value) const {
  return filling_ ? make_store(packed_, packed_index(index), value)
                  : make_store(panel_, index, value);
}

PrimExpr Panels::get(const std::vector<PrimExpr>& index) const {
  if (packed_ && packed_->dtype == panel_->dtype) return load(packed_, packed_index(index));
  return load(panel_, index);
}

Stmt Panels::pack_along_lanes(bool whole) const {
  VarMap values = at_;
  return steps(values, [&](std::vector<PrimExpr> index) {
    return lanes(t_.lanes, [&](const Var& lane) {
      index.push_back(lane);
      return put(index, packed_value(values, lane, whole));
    });
  });
}

// Memory is contiguous along the reduction: square tiles are transposed in registers; the remainder
// is copied line by line.
Stmt Panels::pack_along_steps(bool whole) const {
  Var chunk = make_var("chunk"), group = make_var("group");
  const PrimExpr steps_in_chunk = at_most(t_.side, panel_steps_, chunk * t_.side);
  auto square = [&](const PrimExpr& steps, ForKind lanes_kind, ForKind steps_kind) {
    Var lane = make_var(product_.lane.var->name), step = make_var("step");
    PrimExpr at = chunk * t_.side + step, lane_at = group * t_.side + lane;
    VarMap values = at_;
    values[stage_.reduction[0].var.get()] = first_step_ + at;
    Stmt element = put({at, lane_at}, packed_value(values, lane_at, whole));
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
  return make_for(chunk, ceil_div(panel_steps_, t_.side),
                  make_for(group, t_.lanes / t_.side, tile));
}

bool Panels::runs_along_steps() const {
  if (stage_.reduction.size() != 1) return false;
  bool along = false;
  visit_expr(product_.right, [&](const PrimExpr& e) {
    along |= e.kind() == ExprKind::kLoad && !e->operands.empty() &&
             e->operands.back().same_as(stage_.reduction[0].var);
  });
  return along;
}

Stmt Panels::pack() const {
  bool along = runs_along_steps();
  auto packed = [&](bool whole) {
    return along ? pack_along_steps(whole) : pack_along_lanes(whole);
  };
  const PrimExpr& extent = product_.lane.extent;
  if (extent.is_int() && extent->int_value % t_.lanes == 0) return packed(true);
  if (extent.is_int() && extent->int_value < t_.lanes) return packed(false);
  return make_if(le(first_lane_ + t_.lanes, extent), packed(true), packed(false));
}

// Widens a piece of the packed panel.
Stmt Panels::unpack() const {
  VarMap values = at_;
  return steps(values, [&](std::vector<PrimExpr> index) {
    return lanes(t_.lanes, [&](const Var& lane) {
      index.push_back(lane);
      return make_store(panel_, index, cast(panel_->dtype, load(packed_, packed_index(index))));
    });
  });
}

Stmt Panels::multiply() const {
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
  const auto update = [&](const RowValues& at) {
    VarMap values = at_;
    return steps(values, [&](const std::vector<PrimExpr>& index) {
      return for_rows([&](int64_t row, const Var& lane) {
        std::vector<PrimExpr> element = index;
        element.push_back(lane);
        PrimExpr left = tapml::substitute(product_.left, at(values, row));
        PrimExpr sum = load(registers, {cell(row, lane)}) + left * get(element);
        return make_store(registers, {cell(row, lane)}, sum);
      });
    });
  };
  Stmt updates = with_rows(t_.rows, kept(0), true, update);
  return make_for(tile, tiles_, make_alloc(registers, make_seq({load_tile, updates, store_tile})));
}

Stmt Panels::write() const {
  Var row = make_var("row");
  PrimExpr count = at_most(t_.lanes, product_.lane.extent, first_lane_);
  const auto row_of = [&](const RowValues& at) {
    return lanes(count, [&](const Var& lane) {
      VarMap inner = at(at_, 0);
      inner[product_.lane.var.get()] = first_lane_ + lane;
      auto expr = [&](const PrimExpr& e) {
        return rewrite_expr(tapml::substitute(e, inner), [&](const PrimExpr& part) {
          bool own = is_load_of(part, stage_.out);
          return own ? load(sums_, {row, lane}) : PrimExpr();
        });
      };
      std::vector<PrimExpr> indices;
      for (const PrimExpr& index : stage_.final_indices) indices.push_back(expr(index));
      return make_store(stage_.final_out, indices, expr(stage_.final_value));
    });
  };
  return make_for(row, panel_rows_, with_rows(1, row, false, row_of));
}

// `values` with the row iterators set to row `row` of the block. If a tile extends past the last
// row, its reads are clamped and its results are never written.
VarMap Panels::at_row(VarMap values, const PrimExpr& row, bool clamped) const {
  PrimExpr position = first_row_ + row;
  bool exact = rows_.is_int() && rows_->int_value % t_.block == 0 && t_.block % t_.rows == 0;
  if (clamped && !exact) position = min(position, rows_ - 1);
  const VarMap row_values =
      product_.row_at ? product_.row_at(position) : decode(product_.rows, position);
  for (const auto& [var, value] : row_values) values[var] = tapml::substitute(value, at_);
  return values;
}

// Iterators that take loads are computed once, before the steps: in a loop over them, the compiler
// of the code could not tell that they stay the same.
Stmt Panels::with_rows(int64_t count, const PrimExpr& first, bool clamped,
                       const std::function<Stmt(const RowValues& at)>& body) const {
  if (!product_.row_at) {
    return body([&](VarMap values, int64_t row) {
      return at_row(std::move(values), first + row, clamped);
    });
  }
  const int64_t width = std::ssize(product_.rows);
  Buffer places =
      make_buffer(stage_.out->name + "_rows", DType::kI64, {count * width}, Scope::kLocal);
  std::vector<Stmt> stmts;
  for (int64_t row = 0; row < count; ++row) {
    const VarMap own = at_row(at_, first + row, clamped);
    for (int64_t i = 0; i < width; ++i) {
      const BlockIter& iter = product_.rows[static_cast<size_t>(i)];
      stmts.push_back(make_store(places, {row * width + i}, own.at(iter.var.get())));
    }
  }
  stmts.push_back(body([&](VarMap values, int64_t row) {
    for (int64_t i = 0; i < width; ++i) {
      const BlockIter& iter = product_.rows[static_cast<size_t>(i)];
      values[iter.var.get()] = load(places, {row * width + i});
    }
    return values;
  }));
  return make_alloc(places, make_seq(std::move(stmts)));
}

}  // namespace tapml::schedule
