// Attention to tensors of keys and values as wholes: no cache, and no order between queries and
// positions but the distance that a reach limits.
#include <algorithm>
#include <limits>

#include "arith/analyzer.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

enum FullArgument : size_t { kQueries, kKeys, kValues, kCounts };

relax::Annotation deduce_full_attention(const CallView& call) {
  if (call.integer("reach") < 0) {
    call.error("the reach is negative", "0 (none) or a number of positions",
               std::to_string(call.integer("reach")));
  }
  for (size_t argument : {kQueries, kKeys, kValues}) {
    expect_ndim(call, argument, 4);
    expect_float(call, argument);
  }
  expect_ndim(call, kCounts, 1);
  expect_dtype(call, kCounts, DType::kI32);
  const Known query = known_tensor(call, kQueries), keys = known_tensor(call, kKeys);
  const Known values = known_tensor(call, kValues), counts = known_tensor(call, kCounts);
  const auto expect_equal = [&](const Known& a, const Known& b, size_t i, size_t j,
                                const std::string& names) {
    if (a.shape && b.shape) expect_same_dim(call, a.shape->at(i), b.shape->at(j), names);
  };
  expect_equal(query, keys, 0, 0, "q.0 and k.0");
  expect_equal(query, keys, 3, 3, "q.3 and k.3");
  expect_equal(query, counts, 0, 0, "q.0 and counts.0");
  for (size_t d = 0; d < 3; ++d) {
    const std::string index = std::to_string(d);
    expect_equal(keys, values, d, d, "k." + index + " and v." + index);
  }
  if (query.shape && keys.shape) {
    const PrimExpr &heads = (*query.shape)[2], &kv_heads = (*keys.shape)[2];
    const std::string uneven = "the query heads do not divide into groups";
    if (kv_heads.is_int(0)) call.error(uneven, "key-value heads", "none");
    if (kv_heads.is_int()) expect_multiple(call, heads, kv_heads->int_value, uneven);
    // No check at run time could say so.
    const bool divide = kv_heads.is_int()
                            ? arith::Analyzer().prove_divisible(heads, kv_heads->int_value)
                            : same_expr(heads, kv_heads);
    if (!divide) {
      call.error("the query heads are not known to divide into groups",
                 "a multiple of " + to_string(kv_heads), to_string(heads));
    }
  }
  Known result = query;
  if (result.shape) {
    if (values.shape) {
      result.shape->back() = values.shape->back();
    } else {
      result.shape.reset();
    }
  }
  return tensor_result(result);
}

// The lowest finite number: where a query sees nothing, the maximum of its scores is this, and no
// difference of infinities arises.
PrimExpr least_score(DType dtype) {
  return number(dtype == DType::kF64 ? std::numeric_limits<double>::lowest()
                                     : static_cast<double>(std::numeric_limits<float>::lowest()),
                dtype);
}

Dims full_shape(const tir::Buffer& query, const tir::Buffer& values) {
  Dims shape = query->shape;
  shape.back() = values->shape.back();
  return shape;
}

// Five steps over workspaces of [b, h, n, t] and [b, h, n], t = positions that a query may see: dot
// products, their scaled maximum, exponentials, their sum, and the weighted sum of values. With a
// reach, t counts from the first position within it.
class FullAttention {
 public:
  explicit FullAttention(const CallView& call)
      : lowering_(call),
        query_(lowering_.arg(kQueries)),
        keys_(lowering_.arg(kKeys)),
        values_(lowering_.arg(kValues)),
        counts_(lowering_.arg(kCounts)),
        out_(lowering_.output("out", full_shape(query_, values_), query_->dtype)),
        compute_(accumulation_dtype(query_->dtype)),
        scale_(call.number("scale")),
        reach_(call.integer("reach")) {}

  tir::PrimFuncRef build() {
    const Dims rows = {query_->shape[0], query_->shape[2], query_->shape[1]};
    seen_ = keys_->shape[1];
    if (reach_ > 0) seen_ = simplified(min(seen_, PrimExpr(2 * reach_ + 1)));
    Dims all = rows;
    all.push_back(seen_);
    const tir::Buffer dots = lowering_.workspace("dots", all, compute_);
    const tir::Buffer peak = lowering_.workspace("peak", rows, compute_);
    const tir::Buffer exps = lowering_.workspace("exps", all, compute_);
    const tir::Buffer total = lowering_.workspace("total", rows, compute_);
    const PrimExpr least = least_score(compute_), scale = number(scale_, compute_);
    lowering_.add(tir::reduce("attention_dots", dots, {query_->shape[3]}, number(0, compute_),
                              sum_of, [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                const Var &b = i[0], &head = i[1], &token = i[2];
                                const PrimExpr position = position_of(token, i[3]);
                                return if_visible(
                                    b, token, i[3],
                                    load_wide(query_, {b, token, head, r[0]}) *
                                        load_wide(keys_, {b, position, group_of(head), r[0]}),
                                    number(0, compute_));
                              }));
    lowering_.add(tir::reduce("attention_max", peak, {seen_}, least, max_of,
                              [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                const PrimExpr dot = tir::load(dots, {i[0], i[1], i[2], r[0]});
                                return if_visible(i[0], i[2], r[0], dot * scale, least);
                              }));
    lowering_.add(tir::compute("attention_exp", exps, [&](const std::vector<Var>& i) {
      const PrimExpr shifted = tir::load(dots, i) * scale - tir::load(peak, {i[0], i[1], i[2]});
      return if_visible(i[0], i[2], i[3], make_call("exp", compute_, {shifted}),
                        number(0, compute_));
    }));
    lowering_.add(tir::reduce("attention_sum", total, {seen_}, number(0, compute_), sum_of,
                              [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                return tir::load(exps, {i[0], i[1], i[2], r[0]});
                              }));
    const tir::Buffer sums = lowering_.workspace("sums", out_->shape, compute_);
    lowering_.add(tir::reduce("attention_values", sums, {seen_}, number(0, compute_), sum_of,
                              [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                const Var &b = i[0], &token = i[1], &head = i[2];
                                const PrimExpr position = position_of(token, r[0]);
                                return if_visible(
                                    b, token, r[0],
                                    tir::load(exps, {b, head, token, r[0]}) *
                                        load_wide(values_, {b, position, group_of(head), i[3]}),
                                    number(0, compute_));
                              }));
    lowering_.add(tir::compute("attention", out_, [&](const std::vector<Var>& i) {
      const PrimExpr weights = tir::load(total, {i[0], i[2], i[1]});
      // Of a query that sees something the sum of weights is at least 1.
      const PrimExpr some = select(lt(number(0, compute_), weights), weights, number(1, compute_));
      return cast(out_->dtype, fdiv(tir::load(sums, i), some));
    }));
    return lowering_.finish();
  }

 private:
  // The position of step t of a query.
  PrimExpr position_of(const PrimExpr& token, const PrimExpr& step) const {
    if (reach_ == 0) return step;
    return max(token - PrimExpr(reach_), PrimExpr(0)) + step;
  }
  // `value` if the query attends to the position of the step, else `otherwise`. The end of a text
  // is a condition of its own, from which schedules learn where a row ends.
  PrimExpr if_visible(const PrimExpr& b, const PrimExpr& token, const PrimExpr& step,
                      PrimExpr value, const PrimExpr& otherwise) const {
    const PrimExpr position = position_of(token, step);
    if (reach_ > 0) {
      value = select(le(position, token + PrimExpr(reach_)), value, otherwise);
      value = select(lt(position, keys_->shape[1]), value, otherwise);
    }
    return select(lt(position, load_index(counts_, {b})), std::move(value), otherwise);
  }
  // Key-value head of query head `head`.
  PrimExpr group_of(const PrimExpr& head) const {
    return floordiv(head, simplified(floordiv(query_->shape[2], keys_->shape[2])));
  }

  Lowering lowering_;
  tir::Buffer query_, keys_, values_, counts_, out_;
  DType compute_;
  double scale_;
  int64_t reach_;  // 0: none
  PrimExpr seen_;  // the most positions that a query sees
};

tir::PrimFuncRef legalize_full_attention(const CallView& call) {
  return FullAttention(call).build();
}

bool generate_full_attention(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& query = call.args[0].tensors[0];
  keep_moderate(query.shape, 1024);
  const int64_t batches = query.shape[0], kv_heads = rng.between(1, 3);
  int64_t& heads = query.shape[2];
  heads = std::max<int64_t>(1, heads / kv_heads) * kv_heads;
  GeneratedTensor keys = query;
  keys.shape[1] = rng.between(0, 1) == 0 ? query.shape[1] : rng.between(1, 9);
  keys.shape[2] = kv_heads;
  GeneratedTensor values = keys;
  values.shape[3] += rng.between(0, 2);
  call.attrs["scale"] = 0.25;
  if (rng.between(0, 1) == 0) call.attrs["reach"] = rng.between(1, 6);
  const GeneratedTensor counts{DType::kI32, {batches}, 0, static_cast<double>(keys.shape[1])};
  call.args.push_back({{keys}, {}});
  call.args.push_back({{values}, {}});
  call.args.push_back({{counts}, {}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> full_attention_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "attention",
       .doc = "Grouped-query attention to all positions of a text: query i of batch b attends to "
              "positions 0 .. counts[b] - 1, with a `reach` r only to i - r .. i + r of them, with "
              "weights softmax(scale * q.k); query head h uses key-value head h / (heads / "
              "kv_heads). A query that sees no position gives 0. The result is [b, n, heads, "
              "width]. Computed in f32.",
       .args = {{"q", ArgumentKind::kTensor, "[b, n, heads, d], float"},
                {"k", ArgumentKind::kTensor, "[b, m, kv_heads, d], float"},
                {"v", ArgumentKind::kTensor, "[b, m, kv_heads, width], float"},
                {"counts", ArgumentKind::kTensor,
                 "i32[b], positions of each batch that count, at most m"}},
       .attrs = {{"scale", AttributeKind::kFloat, true, {}, "factor of q.k, often 1/sqrt(d)"},
                 {"reach", AttributeKind::kInt, false, int64_t{0},
                  "largest distance of a position that a query sees; 0: any"}},
       .inout = {},
       .deduce = deduce_full_attention,
       .legalize = legalize_full_attention,
       .reference = reference::attention,
       .generator = {{4}, float_dtypes(), -2, 2, generate_full_attention}},
  };
  return kOperators;
}

}  // namespace tapml::op
