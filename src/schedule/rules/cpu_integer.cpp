// Products of quantized activations with quantized weights in integers: the sum of a group is a
// number of dot4, four products of bytes at once, and becomes a float once.
//
// A word of weights in a panel has eight levels of up to four bits of a lane: byte j has element j
// in its low half and element j + 4 in its high half, so that both halves are multiplied with words
// of four levels as they are in memory. Levels of more bits have four to a word, those of i8 plus
// 128: dot4 takes unsigned bytes on the left. What that, or a nibble's zero, adds to a sum is known
// from the sum of the row's levels:
//   sum of (w + zero) * x - zero * (sum of x).
// A launch adds these up before the products.
#include <algorithm>

#include "arith/analyzer.h"
#include "base/rounding.h"
#include "ir/intrinsics.h"
#include "schedule/rules/integer_product.h"
#include "schedule/rules/rules.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kMostTileRows = 6, kVectorsInARow = 2;
constexpr int64_t kBlockRows = 96;  // of an item
constexpr int64_t kWholeZero = 128;

PrimExpr word(int64_t value) { return make_int(value, DType::kI32); }
PrimExpr word_op(const char* name, PrimExpr a, PrimExpr b) {
  return make_call(name, DType::kI32, {std::move(a), std::move(b)});
}

class IntegerPanels {
 public:
  IntegerPanels(const Stage& stage, const IntegerProduct& product,
                const target::VectorRegisters& vectors)
      : stage_(stage),
        p_(product),
        elements_(product.is_whole ? 4 : 8),
        zero_(product.is_signed ? kWholeZero : product.zero),
        lanes_(vectors.bytes / 4 * kVectorsInARow),
        tile_rows_(std::clamp<int64_t>(vectors.count / 4 - 1, 1, kMostTileRows)),
        steps_(stage.reduction[0].extent->int_value),
        rows_(schedule::product(product.rows)) {
    const int64_t panels = ceil_div(p_.lane.extent->int_value, lanes_);
    if (rows_.is_int()) tile_rows_ = std::min(tile_rows_, rows_->int_value);
    block_ = round_up(kBlockRows, tile_rows_);
    if (rows_.is_int()) block_ = std::min(block_, round_up(rows_->int_value, tile_rows_));
    words_ = make_buffer(stage.out->name + "_panels", DType::kI32,
                         {panels, steps_ / elements_, lanes_}, Scope::kGlobal);
    const auto of_groups = [&](const Buffer& source) {
      return make_buffer(source->name + "_panels", source->dtype,
                         {panels, steps_ / p_.group, lanes_}, Scope::kGlobal);
    };
    scales_ = of_groups(p_.scales);
    if (p_.minimums) minimums_ = of_groups(p_.minimums);
    if (zero_ != 0 || p_.minimums) {
      totals_ = make_buffer(stage.out->name + "_totals", DType::kI32, {rows_, steps_ / p_.group},
                            Scope::kGlobal);
    }
  }

  Stmt launches() const {
    std::vector<Stmt> all = {fill(words_, [&](const PrimExpr& row, const Var& step) {
      return packed_word(row, step * elements_);
    })};
    const auto copy = [&](const Buffer& panels, const Buffer& source) {
      all.push_back(fill(panels, [&](const PrimExpr& row, const Var& group) {
        return load(source, {row, group});
      }));
    };
    copy(scales_, p_.scales);
    if (minimums_) copy(minimums_, p_.minimums);
    if (totals_) all.push_back(add_levels());
    all.push_back(multiply());
    Stmt stmt = make_alloc(words_, make_alloc(scales_, make_seq(std::move(all))));
    if (totals_) stmt = make_alloc(totals_, stmt);
    return minimums_ ? make_alloc(minimums_, stmt) : stmt;
  }

 private:
  Stmt over_lanes(const PrimExpr& extent, const std::function<Stmt(const Var&)>& body) const {
    const Var lane = make_var(p_.lane.var->name);
    return make_for(lane, extent, body(lane), ForKind::kVectorized);
  }

  // ---- at load

  PrimExpr packed_word(const PrimExpr& row, const PrimExpr& first) const {
    PrimExpr all;
    arith::Analyzer analyzer;
    for (int64_t j = 0; j < elements_; ++j) {
      const VarMap values = {{p_.lane.var.get(), row}, {p_.step.get(), first + j}};
      PrimExpr level = analyzer.simplify(tapml::substitute(p_.weight, values));
      if (p_.is_signed) level = cast(DType::kI32, level) + word(kWholeZero);
      const int64_t shift = j % 4 * 8 + j / 4 * 4;
      if (shift > 0) level = word_op("shift_left", level, word(shift));
      all = all ? word_op("bit_or", all, level) : level;
    }
    return all;
  }

  // Lanes past the end repeat the last one.
  Stmt fill(const Buffer& panels,
            const std::function<PrimExpr(const PrimExpr& row, const Var& step)>& value) const {
    const Var panel = make_var("panel"), step = make_var("step");
    Stmt lanes = over_lanes(lanes_, [&](const Var& lane) {
      PrimExpr row = panel * lanes_ + lane;
      if (p_.lane.extent->int_value % lanes_ != 0) row = min(row, p_.lane.extent - 1);
      return make_store(panels, {panel, step, lane}, value(row, step));
    });
    return make_for(panel, panels->shape[0], make_for(step, panels->shape[1], lanes),
                    ForKind::kParallel);
  }

  // ---- at a call

  VarMap row_values(const PrimExpr& row) const { return decode(p_.rows, row); }

  // Four levels of a row from `first` on, as they are in memory.
  PrimExpr four_levels(VarMap values, const PrimExpr& first) const {
    PrimExpr all;
    for (int64_t j = 0; j < 4; ++j) {
      values[stage_.reduction[0].var.get()] = first + j;
      PrimExpr byte =
          word_op("bit_and", cast(DType::kI32, tapml::substitute(p_.level, values)), word(255));
      if (j > 0) byte = word_op("shift_left", byte, word(8 * j));
      all = all ? word_op("bit_or", all, byte) : byte;
    }
    return all;
  }

  // The sums of each row's levels in each group, once for all panels.
  Stmt add_levels() const {
    const Var row = make_var("row"), group = make_var("group"), element = make_var("element");
    const Buffer sum = make_buffer(stage_.out->name + "_total", DType::kI32, {1}, Scope::kLocal);
    VarMap values = row_values(row);
    values[stage_.reduction[0].var.get()] = group * p_.group + element;
    const PrimExpr level = cast(DType::kI32, tapml::substitute(p_.level, values));
    Stmt add = make_for(element, p_.group, make_store(sum, {0}, load(sum, {0}) + level));
    Stmt total = make_alloc(sum, make_seq({make_store(sum, {0}, word(0)), add,
                                           make_store(totals_, {row, group}, load(sum, {0}))}));
    return make_for(row, rows_, make_for(group, steps_ / p_.group, total), ForKind::kParallel);
  }

  // The sums of a group of `count` rows, `row_of` them, added to `sums`.
  Stmt add_group(const Buffer& sums, int64_t count, const PrimExpr& panel, const Var& group,
                 const std::function<PrimExpr(int64_t)>& row_of) const {
    const int64_t words = p_.group / elements_, halves = elements_ / 4;
    const auto local = [&](const char* name, DType dtype, int64_t size) {
      return make_buffer(stage_.out->name + name, dtype, {size}, Scope::kLocal);
    };
    // With one row, two chains of sums keep the units busy.
    const int64_t chains = count == 1 ? halves : 1;
    const Buffer dots = local("_dots", DType::kI32, count * chains * lanes_);
    const Buffer levels = local("_levels", DType::kI32, count * halves);
    const auto for_rows = [&](const std::function<Stmt(int64_t row)>& body) {
      std::vector<Stmt> all;
      for (int64_t row = 0; row < count; ++row) all.push_back(body(row));
      return make_seq(std::move(all));
    };
    const auto place = [&](int64_t row, int64_t chain, const Var& lane) {
      return std::vector<PrimExpr>{PrimExpr(lane) + (row * chains + chain) * lanes_};
    };
    const PrimExpr first = group * p_.group;

    Stmt clear = for_rows([&](int64_t row) {
      return over_lanes(lanes_, [&](const Var& lane) {
        std::vector<Stmt> all;
        for (int64_t chain = 0; chain < chains; ++chain) {
          const bool starts = chain == 0 && zero_ != 0;
          all.push_back(
              make_store(dots, place(row, chain, lane),
                         starts ? load(totals_, {row_of(row), group}) * word(-zero_) : word(0)));
        }
        return make_seq(std::move(all));
      });
    });
    const Var step = make_var("step");
    Stmt take = for_rows([&](int64_t row) {
      std::vector<Stmt> all;
      for (int64_t half = 0; half < halves; ++half) {
        all.push_back(
            make_store(levels, {row * halves + half},
                       four_levels(row_values(row_of(row)), first + step * elements_ + half * 4)));
      }
      return make_seq(std::move(all));
    });
    Stmt dot = over_lanes(lanes_, [&](const Var& lane) {
      const PrimExpr weights = load(words_, {panel, group * words + step, lane});
      std::vector<Stmt> all;
      for (int64_t row = 0; row < count; ++row) {
        for (int64_t half = 0; half < halves; ++half) {
          PrimExpr bytes = weights;
          if (!p_.is_whole) {
            if (half > 0) bytes = word_op("shift_right", bytes, word(4));
            bytes = word_op("bit_and", bytes, word(0x0f0f0f0f));
          }
          const std::vector<PrimExpr> at = place(row, half % chains, lane);
          all.push_back(
              make_store(dots, at,
                         make_call("dot4", DType::kI32,
                                   {bytes, load(levels, {row * halves + half}), load(dots, at)})));
        }
      }
      return make_seq(std::move(all));
    });
    Stmt add = for_rows([&](int64_t row) {
      VarMap values = row_values(row_of(row));
      values[stage_.reduction[0].var.get()] = first;
      return over_lanes(lanes_, [&](const Var& lane) {
        PrimExpr sum = load(dots, place(row, 0, lane));
        if (chains == 2) sum = sum + load(dots, place(row, 1, lane));
        PrimExpr value =
            cast(DType::kF32, sum) * cast(DType::kF32, load(scales_, {panel, group, lane}));
        if (minimums_) {
          value = value + cast(DType::kF32, load(totals_, {row_of(row), group})) *
                              cast(DType::kF32, load(minimums_, {panel, group, lane}));
        }
        const std::vector<PrimExpr> at = {PrimExpr(lane) + row * lanes_};
        return make_store(sums, at, load(sums, at) + value * tapml::substitute(p_.scale, values));
      });
    });
    Stmt steps = make_for(step, words, make_alloc(levels, make_seq({take, dot})));
    return make_alloc(dots, make_seq({clear, steps, add}));
  }

  // `count` rows from `first` on, of which `valid` exist; the sums pass through memory, because the
  // number of rows to write is not constant.
  Stmt tile(int64_t count, const PrimExpr& first, const PrimExpr& valid,
            const PrimExpr& panel) const {
    const Buffer sums =
        make_buffer(stage_.out->name + "_sums", DType::kF32, {count * lanes_}, Scope::kLocal);
    const Buffer kept =
        make_buffer(stage_.out->name + "_tile", DType::kF32, {count, lanes_}, Scope::kLocal);
    const auto row_of = [&](int64_t row) {
      return count == 1 ? first : min(first + row, rows_ - 1);
    };
    const auto for_rows = [&](const std::function<Stmt(int64_t row, const Var& lane)>& body) {
      std::vector<Stmt> all;
      for (int64_t row = 0; row < count; ++row) {
        all.push_back(over_lanes(lanes_, [&](const Var& lane) { return body(row, lane); }));
      }
      return make_seq(std::move(all));
    };
    const auto at = [&](int64_t row, const Var& lane) { return PrimExpr(lane) + row * lanes_; };
    const Var group = make_var("group");
    Stmt clear = for_rows([&](int64_t row, const Var& lane) {
      return make_store(sums, {at(row, lane)}, stage_.init_value);
    });
    Stmt groups = make_for(group, steps_ / p_.group, add_group(sums, count, panel, group, row_of));
    Stmt keep = for_rows([&](int64_t row, const Var& lane) {
      return make_store(kept, {row, lane}, load(sums, {at(row, lane)}));
    });
    Stmt compute = make_alloc(sums, make_seq({clear, groups, keep}));
    return make_alloc(kept, make_seq({compute, write(kept, first, valid, panel)}));
  }

  Stmt write(const Buffer& kept, const PrimExpr& first, const PrimExpr& valid,
             const PrimExpr& panel) const {
    const Var row = make_var("row");
    const PrimExpr first_lane = panel * lanes_;
    PrimExpr lanes = lanes_;
    if (p_.lane.extent->int_value % lanes_ != 0) {
      lanes = min(lanes, p_.lane.extent - first_lane);
    }
    Stmt one = over_lanes(lanes, [&](const Var& lane) {
      VarMap values = row_values(first + row);
      values[p_.lane.var.get()] = first_lane + lane;
      const auto expr = [&](const PrimExpr& e) {
        return rewrite_expr(tapml::substitute(e, values), [&](const PrimExpr& part) {
          return is_load_of(part, stage_.out) ? load(kept, {row, lane}) : PrimExpr();
        });
      };
      std::vector<PrimExpr> indices;
      for (const PrimExpr& index : stage_.final_indices) indices.push_back(expr(index));
      return make_store(stage_.final_out, indices, expr(stage_.final_value));
    });
    return make_for(row, valid, one);
  }

  Stmt multiply() const {
    const Var item = make_var("item");
    const PrimExpr panels = words_->shape[0], blocks = ceil_div(rows_, block_);
    const PrimExpr panel = floordiv(item, blocks), block = floormod(item, blocks);
    const Var number = make_var("tile");
    const PrimExpr first = block * block_ + number * tile_rows_;
    const PrimExpr rows = min(PrimExpr(block_), rows_ - block * block_);
    Stmt several =
        make_for(number, ceil_div(rows, tile_rows_),
                 tile(tile_rows_, first, min(PrimExpr(tile_rows_), rows_ - first), panel));
    Stmt body = several;
    if (rows_.is_int(1)) {
      body = tile(1, 0, 1, panel);
    } else if (!rows_.is_int()) {
      body = make_if(eq(rows_, 1), tile(1, 0, 1, panel), several);
    }
    return make_for(item, panels * blocks, body, ForKind::kParallel);
  }

  const Stage& stage_;
  const IntegerProduct& p_;
  int64_t elements_;  // of a word
  int64_t zero_;      // that panels add to the levels of weights
  int64_t lanes_, tile_rows_, steps_;
  PrimExpr rows_;
  int64_t block_ = 0;
  Buffer words_, scales_, minimums_, totals_;
};

}  // namespace

std::optional<LaunchPlan> cpu_integer(const Stage& stage, const std::vector<Buffer>& weights,
                                      const target::VectorRegisters& vectors) {
  const std::optional<IntegerProduct> product = find_integer_product(stage, weights);
  if (!product) return std::nullopt;
  const int64_t elements = product->lane.extent->int_value * stage.reduction[0].extent->int_value;
  if (elements < kFewElements) return std::nullopt;
  return LaunchPlan{IntegerPanels(stage, *product, vectors).launches(), "cpu_integer"};
}

}  // namespace tapml::schedule
