#include "op/ordering.h"

namespace tapml::op {

namespace {

// Indices are i32, so this many doublings cover every row.
constexpr int64_t kDoublings = 31;

using Index = std::vector<PrimExpr>;

// Converts to a comparable number: bool to an integer, narrow floats to f32.
PrimExpr comparable(const PrimExpr& e) {
  if (e.dtype() == DType::kBool) return cast(DType::kI32, e);
  return cast(accumulation_dtype(e.dtype()), e);
}

PrimExpr is_nan(const PrimExpr& e) { return make_call("isnan", DType::kBool, {e}); }

}  // namespace

PrimExpr comes_before(const PrimExpr& a, const PrimExpr& b) {
  PrimExpr x = comparable(a), y = comparable(b);
  PrimExpr less = lt(x, y);
  if (!is_float(x.dtype())) return less;
  return logical_or(less, logical_and(is_nan(y), logical_not(is_nan(x))));
}

PrimExpr same_rank(const PrimExpr& a, const PrimExpr& b) {
  PrimExpr x = comparable(a), y = comparable(b);
  PrimExpr equal = eq(x, y);
  if (!is_float(x.dtype())) return equal;
  return logical_or(equal, logical_and(is_nan(x), is_nan(y)));
}

// Merges runs of doubling width from one buffer into the other. A round passes over the row once;
// `left` and `right` are the positions in the two runs of the current pair.
tir::Stmt merge_sort(const tir::Buffer& order, const tir::Buffer& spare,
                     const std::vector<Var>& row, const PrimExpr& extent,
                     const std::function<PrimExpr(const PrimExpr&, const PrimExpr&)>& before) {
  auto cell = [&](const PrimExpr& k) {
    Index at(row.begin(), row.end());
    at.push_back(k);
    return at;
  };
  tir::Buffer state = tir::make_buffer("state", DType::kI64, {2}, tir::Scope::kLocal);
  PrimExpr left = tir::load(state, {0}), right = tir::load(state, {1});

  auto merge = [&](const tir::Buffer& from, const tir::Buffer& to, const PrimExpr& width) {
    Var t = make_var("t");
    PrimExpr start = t - floormod(t, width * 2);
    PrimExpr middle = min(start + width, extent), end = min(start + width * 2, extent);
    auto candidate = [&](const PrimExpr& k) { return cast(DType::kI64, tir::load(from, cell(k))); };
    PrimExpr takes_right =
        select(lt(right, end),
               select(lt(left, middle), before(candidate(right), candidate(left)), make_bool(true)),
               make_bool(false));
    auto advance = [&](int which, const PrimExpr& at) {
      return tir::make_seq({tir::make_store(to, cell(t), tir::load(from, cell(at))),
                            tir::make_store(state, {which}, at + 1)});
    };
    tir::Stmt reset = tir::make_if(eq(t, start), tir::make_seq({
                                                     tir::make_store(state, {0}, t),
                                                     tir::make_store(state, {1}, t + width),
                                                 }));
    tir::Stmt step = tir::make_if(takes_right, advance(1, right), advance(0, left));
    return tir::make_for(t, extent, tir::make_seq({reset, step}));
  };
  // Rounds come in pairs; if the first is the last, the second only copies back.
  Var pair = make_var("pair");
  auto width_of = [&](const PrimExpr& round) {
    return make_call("shift_left", DType::kI64, {make_int(1), round});
  };
  PrimExpr first = width_of(pair * 2), second = width_of(pair * 2 + 1);
  tir::Stmt rounds = tir::make_if(
      lt(first, extent), tir::make_seq({merge(order, spare, first), merge(spare, order, second)}));
  Var k = make_var("k");
  tir::Stmt identity =
      tir::make_for(k, extent, tir::make_store(order, cell(k), cast(DType::kI32, PrimExpr(k))));
  return tir::make_alloc(
      state, tir::make_seq({identity, tir::make_for(pair, (kDoublings + 1) / 2, rounds)}));
}

tir::Stmt lower_bound(const tir::Buffer& out, const std::vector<PrimExpr>& at,
                      const PrimExpr& extent,
                      const std::function<PrimExpr(const PrimExpr&)>& passes) {
  tir::Buffer state = tir::make_buffer("range", DType::kI64, {2}, tir::Scope::kLocal);
  PrimExpr low = tir::load(state, {0}), high = tir::load(state, {1});
  Var step = make_var("step");
  PrimExpr middle = floordiv(low + high, 2);
  // No more steps than elements: an empty row is never read, regardless of how a platform evaluates
  // a condition.
  PrimExpr steps = min(extent, kDoublings + 1);
  tir::Stmt halve = tir::make_if(
      lt(low, high), tir::make_if(passes(middle), tir::make_store(state, {0}, middle + 1),
                                  tir::make_store(state, {1}, middle)));
  return tir::make_alloc(
      state, tir::make_seq({tir::make_store(state, {0}, 0), tir::make_store(state, {1}, extent),
                            tir::make_for(step, steps, halve),
                            tir::make_store(out, at, cast(DType::kI32, low))}));
}

}  // namespace tapml::op
