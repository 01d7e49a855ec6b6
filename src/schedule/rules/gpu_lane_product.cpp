// Sums of products where the threads of a subgroup are lanes of a CPU's vectors. There, every
// lane's read counts separately, whatever its neighbors read, and costs far more than the
// arithmetic: reading four elements in one lane is cheapest, values uniform across lanes are cheap,
// subgroup sums are expensive. Each value read is used for as many sums as registers hold.
#include <algorithm>

#include "base/rounding.h"
#include "schedule/rules/access.h"
#include "schedule/rules/gpu_products.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kAtOnce = 4;   // elements that a lane reads at once, or twice as many narrow ones
constexpr int64_t kColumns = 4;  // of a lane, whose elements are contiguous along the sum
constexpr int64_t kGroupsAtLeast = 4;  // with fewer groups, lanes take fewer columns
constexpr int64_t kFewPieces = 8;  // of four elements along the sum; tiles need at least this many
constexpr int64_t kRows = 4;       // of a tile
constexpr int64_t kVectors = 32;   // of a lane with its own columns, for one row
constexpr int64_t kVectorsOfRows = 4;  // and in tiles of rows
// lavapipe stops an invocation after 65,535 loop steps in total.
constexpr int64_t kMostSteps = 65'000;

Stmt at_once(const std::function<Stmt(const Var& place)>& body) {
  Var place = make_var("place");
  return make_for(place, kAtOnce, body(place), ForKind::kVectorized);
}

// Shared by both variants: teams of one subgroup each, tiles of rows, operands at offsets.
class LaneTiles {
 public:
  LaneTiles(const Stage& stage, const Product& product, const Group& group)
      : stage_(stage),
        product_(product),
        group_(group),
        rows_(schedule::product(product.rows)),
        columns_(product.lane.extent),
        steps_(stage.reduction[0].extent->int_value),
        height_(rows_.is_int() ? std::clamp<int64_t>(rows_->int_value, 1, kRows) : kRows) {}
  virtual ~LaneTiles() = default;

  GroupWork build() {
    const int64_t teams = group_.threads / group_.subgroup;
    GroupWork work;
    work.item = make_var("tile");
    std::vector<BlockIter> items = product_.outer;
    items.push_back(
        {make_var("columns"), ceil_div(columns_, teams * width()), IterType::kSpatial, {}});
    items.push_back({make_var("rows"), ceil_div(rows_, height_), IterType::kSpatial, {}});
    work.count = schedule::product(items);
    at_ = decode(items, work.item);
    const PrimExpr first_row = at_.at(items.back().var.get()) * height_;
    PrimExpr team = at_.at(items[items.size() - 2].var.get());
    lane_ = group_.thread;
    if (teams > 1) {
      team = team * teams + floordiv(group_.thread, group_.subgroup);
      lane_ = floormod(group_.thread, group_.subgroup);
    }
    first_column_ = team * width();
    Stmt whole = tile(height_, first_row);
    if (rows_.is_int() && rows_->int_value % height_ == 0) {
      work.body = whole;
      return work;
    }
    // Remaining rows run one by one: all threads of a group take the same steps.
    Var row = make_var("row");
    Stmt rest = make_for(row, min(PrimExpr(height_), rows_ - first_row), tile(1, first_row + row));
    work.body = make_if(le(first_row + height_, rows_), whole, rest);
    return work;
  }

 protected:
  // Columns of a team.
  virtual int64_t width() const = 0;
  virtual Stmt tile(int64_t height, const PrimExpr& first_row) = 0;

  bool is_covered() const {
    return columns_.is_int() &&
           columns_->int_value % (group_.threads / group_.subgroup * width()) == 0;
  }
  PrimExpr operand(const PrimExpr& expr, const PrimExpr& row, const PrimExpr& column,
                   const PrimExpr& step) const {
    VarMap values = at_;
    if (row) values.merge(decode(product_.rows, row));
    if (column) values[product_.lane.var.get()] = column;
    decode_reduction(stage_, step, values);
    return value_at(expr, stage_, values, {});
  }
  Stmt write(const PrimExpr& row, const PrimExpr& column, const PrimExpr& sum) const {
    VarMap values = at_;
    values.merge(decode(product_.rows, row));
    values[product_.lane.var.get()] = column;
    return store_final(stage_, values, sum);
  }
  Buffer local(const char* name, DType dtype, int64_t elements) const {
    return make_buffer(stage_.out->name + name, dtype, {elements}, Scope::kLocal);
  }
  static Stmt clear(const Buffer& sums, const PrimExpr& init) {
    std::vector<Stmt> stmts;
    for (int64_t i = 0; i < sums->shape[0]->int_value; ++i) {
      stmts.push_back(make_store(sums, {i}, init));
    }
    return make_seq(std::move(stmts));
  }

  const Stage& stage_;
  const Product& product_;
  const Group& group_;
  PrimExpr rows_, columns_;
  int64_t steps_, height_;
  VarMap at_;
  PrimExpr lane_, first_column_;
};

// The right operand is contiguous along the sum: each lane has its own adjacent columns and runs
// through all of their steps. The left operand is uniform across lanes, and no sums are combined.
class RightAlongSteps final : public LaneTiles {
 public:
  RightAlongSteps(const Stage& stage, const Product& product, const Group& group)
      : LaneTiles(stage, product, group) {
    if (!columns_.is_int()) return;
    // Enough groups for all threads of a processor take priority over sharing reads among sums.
    while (own_columns_ > 1 && columns_->int_value < kGroupsAtLeast * width()) own_columns_ /= 2;
  }

 private:
  int64_t width() const override { return own_columns_ * group_.subgroup; }

  // Steps of a piece: eight if one read of the right operand covers them.
  int64_t piece_steps() const {
    bool is_narrow = steps_ % (2 * kAtOnce) == 0;
    visit_expr(product_.right, [&](const PrimExpr& e) {
      is_narrow &= e.kind() != ExprKind::kLoad || dtype_bytes(load_buffer(e)->dtype) == 2;
    });
    return is_narrow ? 2 * kAtOnce : kAtOnce;
  }

  PrimExpr column_of(int64_t own) const { return first_column_ + (lane_ * own_columns_ + own); }

  Stmt tile(int64_t height, const PrimExpr& first_row) override {
    const int64_t width = own_columns_, together = piece_steps();
    Buffer sums = local("_sums", stage_.out->dtype, height * width);
    Buffer left = local("_left", product_.left.dtype(), height * together);
    Buffer right = local("_right", product_.right.dtype(), together);
    Var piece = make_var("piece");
    const PrimExpr first_step = piece * together;
    std::vector<Stmt> parts;
    auto read = [&](const Buffer& to, int64_t at,
                    const std::function<PrimExpr(const PrimExpr&)>& of) {
      for (int64_t four = 0; four < together; four += kAtOnce) {
        parts.push_back(at_once([&](const Var& place) {
          return make_store(to, {place + (at + four)}, of(first_step + four + place));
        }));
      }
    };
    for (int64_t row = 0; row < height; ++row) {
      read(left, row * together,
           [&](const PrimExpr& step) { return operand(product_.left, first_row + row, {}, step); });
    }
    for (int64_t own = 0; own < width; ++own) {
      PrimExpr column = column_of(own);
      if (!is_covered()) column = min(column, columns_ - 1);
      read(right, 0,
           [&](const PrimExpr& step) { return operand(product_.right, {}, column, step); });
      for (int64_t row = 0; row < height; ++row) {
        const int64_t sum = row * width + own;
        PrimExpr value = load(sums, {sum});
        for (int64_t i = 0; i < together; ++i) {
          value = value + load(left, {row * together + i}) * load(right, {i});
        }
        parts.push_back(make_store(sums, {sum}, value));
      }
    }
    Stmt body = make_alloc(left, make_alloc(right, make_seq(std::move(parts))));
    std::vector<Stmt> stmts = {clear(sums, stage_.init_value),
                               make_for(piece, steps_ / together, body)};
    for (int64_t own = 0; own < width; ++own) {
      const PrimExpr column = column_of(own);
      std::vector<Stmt> elements;
      for (int64_t row = 0; row < height; ++row) {
        elements.push_back(write(first_row + row, column, load(sums, {row * width + own})));
      }
      Stmt store = make_seq(std::move(elements));
      stmts.push_back(is_covered() ? store : make_if(lt(column, columns_), store));
    }
    return make_alloc(sums, make_seq(std::move(stmts)));
  }

  int64_t own_columns_ = kColumns;
};

// The right operand is contiguous along the columns: each lane has some of them, in vectors spaced
// by the width of all lanes together.
class RightAlongColumns final : public LaneTiles {
 public:
  RightAlongColumns(const Stage& stage, const Product& product, const Group& group)
      : LaneTiles(stage, product, group) {
    const int64_t most = rows_.is_int(1) ? kVectors : kVectorsOfRows;
    const int64_t teams = group.threads / group.subgroup;
    const int64_t all =
        std::max<int64_t>(1, ceil_div(columns_->int_value, kAtOnce * group.subgroup));
    // Tiles of equal width.
    const int64_t tiles = ceil_div(all, most * teams);
    vectors_ = ceil_div(all, tiles * teams);
  }

 private:
  int64_t width() const override { return vectors_ * kAtOnce * group_.subgroup; }

  PrimExpr column_of(int64_t vector) const {
    return first_column_ + vector * kAtOnce * group_.subgroup + lane_ * kAtOnce;
  }

  Stmt tile(int64_t height, const PrimExpr& first_row) override {
    Buffer sums = local("_sums", stage_.out->dtype, height * vectors_ * kAtOnce);
    Buffer left = local("_left", product_.left.dtype(), height);
    Buffer right = local("_right", product_.right.dtype(), kAtOnce);
    Var step = make_var("step");
    std::vector<Stmt> parts;
    for (int64_t row = 0; row < height; ++row) {
      parts.push_back(make_store(left, {row}, operand(product_.left, first_row + row, {}, step)));
    }
    for (int64_t vector = 0; vector < vectors_; ++vector) {
      PrimExpr column = column_of(vector);
      if (!is_covered()) column = min(column, columns_ - kAtOnce);
      parts.push_back(at_once([&](const Var& place) {
        return make_store(right, {place}, operand(product_.right, {}, column + place, step));
      }));
      for (int64_t row = 0; row < height; ++row) {
        for (int64_t i = 0; i < kAtOnce; ++i) {
          const int64_t sum = (row * vectors_ + vector) * kAtOnce + i;
          parts.push_back(
              make_store(sums, {sum}, load(sums, {sum}) + load(left, {row}) * load(right, {i})));
        }
      }
    }
    Stmt body = make_alloc(left, make_alloc(right, make_seq(std::move(parts))));
    std::vector<Stmt> stores;
    for (int64_t row = 0; row < height; ++row) {
      for (int64_t vector = 0; vector < vectors_; ++vector) {
        const PrimExpr column = column_of(vector);
        std::vector<Stmt> elements;
        for (int64_t i = 0; i < kAtOnce; ++i) {
          const int64_t sum = (row * vectors_ + vector) * kAtOnce + i;
          elements.push_back(write(first_row + row, column + i, load(sums, {sum})));
        }
        Stmt store = make_seq(std::move(elements));
        stores.push_back(is_covered() ? store : make_if(lt(column, columns_), store));
      }
    }
    return make_alloc(sums, make_seq({clear(sums, stage_.init_value), make_for(step, steps_, body),
                                      make_seq(std::move(stores))}));
  }

  int64_t vectors_ = 1;
};

}  // namespace

std::optional<LaunchPlan> gpu_lane_product(const Stage& stage, const Group& group) {
  const std::optional<Product> product = find_product(stage);
  if (!product || group.subgroup == 1 || !find_combination(stage) ||
      stage.out->dtype != DType::kF32 || stage.reduction.size() != 1) {
    return std::nullopt;
  }
  const PrimExpr& steps = stage.reduction[0].extent;
  if (!steps.is_int()) return std::nullopt;
  // A tile's rows may run one by one.
  const int64_t most = schedule::product(product->rows).is_int(1) ? kMostSteps : kMostSteps / kRows;
  if (runs_along(stage, stage.reduction[0].var)) {
    const int64_t pieces = steps->int_value / kAtOnce;
    if (steps->int_value % kAtOnce != 0 || pieces < kFewPieces || pieces > most) {
      return std::nullopt;
    }
    return LaunchPlan{launch_groups(group, RightAlongSteps(stage, *product, group).build()),
                      "gpu_lane_product"};
  }
  const PrimExpr& columns = product->lane.extent;
  if (!columns.is_int() || columns->int_value % kAtOnce != 0 ||
      columns->int_value < kAtOnce * group.subgroup || steps->int_value > most) {
    return std::nullopt;
  }
  Stage right = stage;
  right.value = product->right;
  if (!runs_along(right, product->lane.var)) return std::nullopt;
  return LaunchPlan{launch_groups(group, RightAlongColumns(stage, *product, group).build()),
                    "gpu_lane_product"};
}

}  // namespace tapml::schedule
