// The paged key-value cache: append and grouped-query attention, causal or with tokens that see
// some of those after them.
//
// Position t of batch b is in row t % page_size of page page_table[b, t / page_size]. `lengths`
// counts the tokens in the cache before the call. Entries of the page table after the last used
// position are never read.
#include <algorithm>

#include "base/rounding.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

enum AppendArgument : size_t { kPool, kNew, kAppendTable, kAppendLengths };
enum AttentionArgument : size_t { kQuery, kKeyPool, kValuePool, kTable, kLengths, kMore };

// What operators that attend take besides: a score for each head that competes with positions, how
// far ahead each token sees, or how much less a head scores a position for each one that it is
// farther away.
constexpr const char *kSinks = "sinks", *kAhead = "ahead", *kSlopes = "slopes";
bool takes(const CallView& call, std::string_view name) {
  return call.info.args.size() > kMore && call.info.args[kMore].name == name;
}

// Checks a page table and lengths against the batch size of tensor argument `tokens`.
void check_table(const CallView& call, size_t table, size_t lengths, size_t tokens) {
  expect_ndim(call, table, 2);
  expect_ndim(call, lengths, 1);
  expect_dtype(call, table, DType::kI32);
  expect_dtype(call, lengths, DType::kI32);
  Known fresh = known_tensor(call, tokens);
  if (!fresh.shape) return;
  for (size_t argument : {table, lengths}) {
    Known known = known_tensor(call, argument);
    if (!known.shape) continue;
    expect_same_dim(call, fresh.shape->front(), known.shape->front(),
                    std::string(call.info.args[tokens].name) + ".0 and " +
                        call.info.args[argument].name + ".0");
  }
}

relax::Annotation deduce_append(const CallView& call) {
  expect_ndim(call, kPool, 4);
  expect_ndim(call, kNew, 4);
  expect_float(call, kPool);
  expect_float(call, kNew);
  Known pool = known_tensor(call, kPool), fresh = known_tensor(call, kNew);
  check_table(call, kAppendTable, kAppendLengths, kNew);
  if (pool.shape && fresh.shape) {
    for (size_t d : {2, 3}) {
      std::string index = std::to_string(d);
      expect_same_dim(call, (*pool.shape)[d], (*fresh.shape)[d],
                      "pool." + index + " and new." + index);
    }
  }
  return tensor_result(pool);
}

// Page and row of position `position` of batch b.
std::pair<PrimExpr, PrimExpr> slot_of(const tir::Buffer& table, const PrimExpr& page_size,
                                      const PrimExpr& b, const PrimExpr& position) {
  return {load_index(table, {b, floordiv(position, page_size)}), floormod(position, page_size)};
}

tir::PrimFuncRef legalize_append(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& pool = lowering.arg(kPool);
  const tir::Buffer& fresh = lowering.arg(kNew);
  const tir::Buffer& table = lowering.arg(kAppendTable);
  const tir::Buffer& lengths = lowering.arg(kAppendLengths);
  lowering.add(tir::block("kv_append", fresh->shape, [&](const std::vector<Var>& i) {
    PrimExpr position = load_index(lengths, {i[0]}) + i[1];
    auto [page, row] = slot_of(table, pool->shape[1], i[0], position);
    return tir::make_store(pool, {page, row, i[2], i[3]},
                           cast(pool->dtype, tir::load(fresh, {i[0], i[1], i[2], i[3]})));
  }));
  return lowering.finish();
}

relax::Annotation deduce_attention(const CallView& call) {
  if (call.integer("window") < 0) {
    call.error("the window is negative", "0 (none) or a number of tokens",
               std::to_string(call.integer("window")));
  }
  if (call.integer("chunk") < 0) {
    call.error("the chunk is negative", "0 (none) or a number of tokens",
               std::to_string(call.integer("chunk")));
  }
  if (!(call.number("soft_cap") >= 0)) {
    call.error("the soft cap is negative", "0 (none) or the largest score",
               std::to_string(call.number("soft_cap")));
  }
  for (size_t argument : {kQuery, kKeyPool, kValuePool}) {
    expect_ndim(call, argument, 4);
    expect_float(call, argument);
  }
  Known query = known_tensor(call, kQuery);
  Known keys = known_tensor(call, kKeyPool), values = known_tensor(call, kValuePool);
  check_table(call, kTable, kLengths, kQuery);
  if (keys.shape && values.shape) {
    for (size_t d = 0; d < 3; ++d) {
      std::string index = std::to_string(d);
      expect_same_dim(call, (*keys.shape)[d], (*values.shape)[d],
                      "k_pool." + index + " and v_pool." + index);
    }
  }
  const int64_t width = call.integer("value_width");
  if (width < 0) {
    call.error("the width of values is negative", "0 (all of v_pool.3) or a number of elements",
               std::to_string(width));
  }
  if (width > 0 && values.shape) {
    const PrimExpr& row = values.shape->back();
    if (row.is_int() ? width > row->int_value : call.strict) {
      call.error("v_pool.3 is not known to be as large as value_width",
                 "at least " + std::to_string(width), to_string(row));
    }
  }
  if (takes(call, kSinks) || takes(call, kSlopes)) {
    expect_ndim(call, kMore, 1);
    expect_float(call, kMore);
    const Known by_head = known_tensor(call, kMore);
    if (by_head.shape && query.shape) {
      expect_same_dim(call, (*query.shape)[2], by_head.shape->front(),
                      "q.2 and " + std::string(call.info.args[kMore].name) + ".0");
    }
  }
  if (takes(call, kAhead)) {
    expect_ndim(call, kMore, 2);
    expect_dtype(call, kMore, DType::kI32);
    const Known ahead = known_tensor(call, kMore);
    for (size_t d = 0; ahead.shape && query.shape && d < 2; ++d) {
      const std::string index = std::to_string(d);
      expect_same_dim(call, (*query.shape)[d], (*ahead.shape)[d],
                      "q." + index + " and ahead." + index);
    }
  }
  if (query.shape && keys.shape) {
    const PrimExpr &heads = (*query.shape)[2], &kv_heads = (*keys.shape)[2];
    expect_same_dim(call, (*query.shape)[3], (*keys.shape)[3], "q.3 and k_pool.3");
    const std::string uneven = "the query heads do not divide into groups";
    if (kv_heads.is_int(0)) call.error(uneven, "key-value heads", "none");
    if (kv_heads.is_int()) expect_multiple(call, heads, kv_heads->int_value, uneven);
  }
  Known result = query;
  if (result.shape) {
    if (width == 0 && !values.shape) {
      result.shape.reset();
    } else {
      result.shape->back() = width > 0 ? PrimExpr(width) : values.shape->back();
    }
  }
  return tensor_result(result);
}

Dims attended_shape(const CallView& call, const tir::Buffer& query, const tir::Buffer& values) {
  Dims shape = query->shape;
  const int64_t width = call.integer("value_width");
  shape.back() = width > 0 ? PrimExpr(width) : values->shape.back();
  return shape;
}

// Five steps over workspaces of [b, h, n, t] and [b, h, n], t = positions that the page table can
// hold: dot products, their scaled maximum, exponentials, their sum, and the weighted sum of
// values. Selects skip positions that a query may not see, so that their loads are not evaluated.
class AttentionProgram {
 public:
  explicit AttentionProgram(const CallView& call)
      : lowering_(call),
        query_(lowering_.arg(kQuery)),
        keys_(lowering_.arg(kKeyPool)),
        values_(lowering_.arg(kValuePool)),
        table_(lowering_.arg(kTable)),
        lengths_(lowering_.arg(kLengths)),
        sinks_(takes(call, kSinks) ? lowering_.arg(kMore) : tir::Buffer()),
        ahead_(takes(call, kAhead) ? lowering_.arg(kMore) : tir::Buffer()),
        slopes_(takes(call, kSlopes) ? lowering_.arg(kMore) : tir::Buffer()),
        out_(lowering_.output("out", attended_shape(call, query_, values_), query_->dtype)),
        compute_(accumulation_dtype(query_->dtype)),
        scale_(call.number("scale")),
        soft_cap_(call.number("soft_cap")),
        window_(call.integer("window")),
        chunk_(call.integer("chunk")) {}

  tir::PrimFuncRef build() {
    Dims rows = {query_->shape[0], query_->shape[2], query_->shape[1]};
    positions_ = simplified(table_->shape[1] * keys_->shape[1]);
    Dims all = rows;
    all.push_back(positions_);
    tir::Buffer dots = lowering_.workspace("dots", all, compute_);
    tir::Buffer peak = lowering_.workspace("peak", rows, compute_);
    tir::Buffer exps = lowering_.workspace("exps", all, compute_);
    tir::Buffer total = lowering_.workspace("total", rows, compute_);
    add_dots(dots);
    lowering_.add(tir::reduce("attention_max", peak, {positions_}, lowest(compute_), max_of,
                              [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                const std::vector<PrimExpr> at = {i[0], i[1], i[2], r[0]};
                                return if_visible(i[0], i[2], r[0], score(dots, at),
                                                  lowest(compute_));
                              }));
    lowering_.add(tir::compute("attention_exp", exps, [&](const std::vector<Var>& i) {
      PrimExpr shifted =
          score(dots, {i[0], i[1], i[2], i[3]}) - tir::load(peak, {i[0], i[1], i[2]});
      return if_visible(i[0], i[2], i[3], make_call("exp", compute_, {shifted}),
                        number(0, compute_));
    }));
    lowering_.add(tir::reduce("attention_sum", total, {positions_}, number(0, compute_), sum_of,
                              [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                return tir::load(exps, {i[0], i[1], i[2], r[0]});
                              }));
    add_values(exps, total, peak);
    return lowering_.finish();
  }

 private:
  // `value` if the token attends to `position`, else `otherwise`. The last position that it sees
  // is a condition of its own, from which schedules learn where a row ends.
  PrimExpr if_visible(const PrimExpr& b, const PrimExpr& token, const PrimExpr& position,
                      PrimExpr value, const PrimExpr& otherwise) const {
    const PrimExpr own = load_index(lengths_, {b}) + token;
    if (window_ > 0) value = select(lt(own - position, PrimExpr(window_)), value, otherwise);
    if (chunk_ > 0) {
      const PrimExpr first = floordiv(own, PrimExpr(chunk_)) * PrimExpr(chunk_);
      value = select(le(first, position), value, otherwise);
    }
    return select(le(position, last_seen(b, token, own)), std::move(value), otherwise);
  }
  PrimExpr last_seen(const PrimExpr& b, const PrimExpr& token, const PrimExpr& own) const {
    if (!ahead_) return own;
    const PrimExpr last = load_index(lengths_, {b}) + query_->shape[1] - 1;
    return min(own + load_index(ahead_, {b, token}), last);
  }
  // Of the dot product at batch, head, token, position.
  PrimExpr score(const tir::Buffer& dots, const std::vector<PrimExpr>& at) const {
    const PrimExpr capped = scaled(tir::load(dots, at));
    if (!slopes_) return capped;
    const PrimExpr behind = load_index(lengths_, {at[0]}) + at[2] - at[3];
    return capped - load_wide(slopes_, {at[1]}) * cast(compute_, behind);
  }
  PrimExpr scaled(const PrimExpr& dot) const {
    if (soft_cap_ == 0) return dot * number(scale_, compute_);
    const PrimExpr part = dot * number(scale_ / soft_cap_, compute_);
    return make_call("tanh", compute_, {part}) * number(soft_cap_, compute_);
  }
  // Key-value head of query head `head`.
  PrimExpr group_of(const PrimExpr& head) const {
    PrimExpr size = simplified(floordiv(query_->shape[2], keys_->shape[2]));
    return floordiv(head, size);
  }
  PrimExpr cached(const tir::Buffer& pool, const PrimExpr& b, const PrimExpr& position,
                  const PrimExpr& head, const PrimExpr& d) const {
    auto [page, row] = slot_of(table_, pool->shape[1], b, position);
    return cast(compute_, tir::load(pool, {page, row, group_of(head), d}));
  }

  void add_dots(const tir::Buffer& dots) {
    lowering_.add(tir::reduce("attention_dots", dots, {query_->shape[3]}, number(0, compute_),
                              sum_of, [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                const Var &b = i[0], &head = i[1], &token = i[2], &position = i[3];
                                PrimExpr product = load_wide(query_, {b, token, head, r[0]}) *
                                                   cached(keys_, b, position, head, r[0]);
                                return if_visible(b, token, position, product, number(0, compute_));
                              }));
  }

  void add_values(const tir::Buffer& exps, const tir::Buffer& total, const tir::Buffer& peak) {
    tir::Buffer sums = lowering_.workspace("sums", out_->shape, compute_);
    lowering_.add(tir::reduce("attention_values", sums, {positions_}, number(0, compute_), sum_of,
                              [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                                const Var &b = i[0], &token = i[1], &head = i[2], &d = i[3];
                                PrimExpr weighted = tir::load(exps, {b, head, token, r[0]}) *
                                                    cached(values_, b, r[0], head, d);
                                return if_visible(b, token, r[0], weighted, number(0, compute_));
                              }));
    lowering_.add(tir::compute("attention", out_, [&](const std::vector<Var>& i) {
      const std::vector<PrimExpr> row = {i[0], i[2], i[1]};
      PrimExpr weights = tir::load(total, row);
      if (sinks_) {
        // A sink far above all scores overflows to infinity, and the mean is 0, as it should be.
        PrimExpr shifted = load_wide(sinks_, {i[2]}) - tir::load(peak, row);
        weights = weights + make_call("exp", compute_, {shifted});
      }
      return cast(out_->dtype, fdiv(tir::load(sums, i), weights));
    }));
  }

  Lowering lowering_;
  tir::Buffer query_, keys_, values_, table_, lengths_;
  tir::Buffer sinks_, ahead_, slopes_;  // may be null
  tir::Buffer out_;
  DType compute_;
  double scale_, soft_cap_;  // soft_cap_ 0: none
  int64_t window_, chunk_;   // 0: none
  PrimExpr positions_;
};

tir::PrimFuncRef legalize_attention(const CallView& call) { return AttentionProgram(call).build(); }

// ---- random calls

// Adds a page table of `batches` rows that distributes `pages` pages, and lengths that leave room
// for `count` new tokens. False if there is no room.
bool add_cache(GeneratedCall& call, int64_t batches, int64_t count, int64_t pages,
               int64_t page_size) {
  int64_t per_batch = batches == 0 ? pages : pages / batches;
  if (pages == 0 || per_batch * page_size < count) return false;
  GeneratedTensor table{DType::kI32,
                        {batches, per_batch},
                        0,
                        static_cast<double>(pages - 1),
                        GeneratedTensor::Order::kDistinct};
  GeneratedTensor lengths{
      DType::kI32, {batches}, 0, static_cast<double>(per_batch * page_size - count)};
  call.args.push_back({{table}, {}});
  call.args.push_back({{lengths}, {}});
  return true;
}

bool generate_append(GeneratedCall& call, RandomStream& rng) {
  keep_moderate(call.args[0].tensors[0].shape, 4096);
  GeneratedTensor fresh = call.args[0].tensors[0];
  int64_t pages = fresh.shape[0], page_size = fresh.shape[1];
  int64_t batches = std::min<int64_t>(pages, rng.between(1, 3));
  if (batches == 0) return false;
  fresh.shape[0] = batches;
  fresh.shape[1] = std::min<int64_t>(pages / batches * page_size, rng.between(0, 5));
  call.args.push_back({{fresh}, {}});
  return add_cache(call, batches, fresh.shape[1], pages, page_size);
}

bool generate_attention(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& query = call.args[0].tensors[0];
  keep_moderate(query.shape, 1024);
  int64_t batches = query.shape[0], count = query.shape[1];
  int64_t& heads = query.shape[2];
  int64_t kv_heads = rng.between(1, 3);
  heads = std::max<int64_t>(1, heads / kv_heads) * kv_heads;
  int64_t page_size = pick<int64_t>({1, 4, 16}, rng);
  int64_t per_batch = ceil_div(count, page_size) + rng.between(1, 2);
  int64_t pages = std::max<int64_t>(1, batches) * per_batch + rng.between(0, 2);
  GeneratedTensor pool = query;
  pool.shape = {pages, page_size, kv_heads, query.shape[3]};
  call.attrs["scale"] = 0.25;
  if (rng.between(0, 2) == 0) call.attrs["window"] = rng.between(1, 2 * page_size);
  if (rng.between(0, 3) == 0) call.attrs["chunk"] = rng.between(1, 2 * page_size);
  if (rng.between(0, 3) == 0) call.attrs["soft_cap"] = 1.5;
  GeneratedTensor values = pool;
  const int64_t wider = rng.between(0, 2);
  values.shape[3] += wider;
  if (wider > 0 && values.shape[3] > 1 && rng.between(0, 1) == 0) {
    call.attrs["value_width"] = rng.between(1, values.shape[3]);
  }
  call.args.push_back({{pool}, {}});
  call.args.push_back({{values}, {}});
  return add_cache(call, batches, count, pages, page_size);
}

bool generate_attention_with_sinks(GeneratedCall& call, RandomStream& rng) {
  if (!generate_attention(call, rng)) return false;
  GeneratedTensor sinks = call.args[0].tensors[0];
  sinks.shape = {sinks.shape[2]};
  call.args.push_back({{sinks}, {}});
  return true;
}

bool generate_attention_with_slopes(GeneratedCall& call, RandomStream& rng) {
  if (!generate_attention(call, rng)) return false;
  GeneratedTensor slopes = call.args[0].tensors[0];
  slopes.shape = {slopes.shape[2]};
  call.args.push_back({{slopes}, {}});
  return true;
}

bool generate_attention_ahead(GeneratedCall& call, RandomStream& rng) {
  if (!generate_attention(call, rng)) return false;
  const Shape& query = call.args[0].tensors[0].shape;
  const GeneratedTensor ahead{DType::kI32, {query[0], query[1]}, 0, 3};
  call.args.push_back({{ahead}, {}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> attention_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    const ArgumentSpec table = {"page_table", ArgumentKind::kTensor,
                                "i32[b, p], pages of each batch in order"};
    const ArgumentSpec lengths = {"lengths", ArgumentKind::kTensor,
                                  "i32[b], tokens in the cache before this call"};
    const std::vector<ArgumentSpec> attended = {
        {"q", ArgumentKind::kTensor, "[b, n, heads, d], float"},
        {"k_pool", ArgumentKind::kTensor, "[pages, page_size, kv_heads, d], float"},
        {"v_pool", ArgumentKind::kTensor, "[pages, page_size, kv_heads, width], float"},
        table,
        lengths};
    std::vector<ArgumentSpec> with_sinks = attended;
    with_sinks.push_back({kSinks, ArgumentKind::kTensor, "[heads], float"});
    std::vector<ArgumentSpec> with_slopes = attended;
    with_slopes.push_back({kSlopes, ArgumentKind::kTensor, "[heads], float"});
    std::vector<ArgumentSpec> with_ahead = attended;
    with_ahead.push_back({kAhead, ArgumentKind::kTensor,
                          "i32[b, n], at least 0: positions after its own that a query sees"});
    const std::vector<AttributeSpec> attrs = {
        {"scale", AttributeKind::kFloat, true, {}, "factor of q.k, often 1/sqrt(d)"},
        {"window", AttributeKind::kInt, false, int64_t{0},
         "number of positions that a query sees, its own included; 0: all"},
        {"chunk", AttributeKind::kInt, false, int64_t{0},
         "number of positions of a chunk, of which a query sees only its own; 0: one chunk"},
        {"soft_cap", AttributeKind::kFloat, false, 0.0, "largest score; 0: none"},
        {"value_width", AttributeKind::kInt, false, int64_t{0},
         "number of leading elements of a row of v_pool that are its value; 0: all"}};
    std::vector<OperatorInfo> list = {
        {.name = "kv_append",
         .doc =
             "Writes token i of batch b to position lengths[b] + i of the paged cache: row "
             "position % page_size of page page_table[b, position / page_size]. Updates the pool "
             "in place; no two tokens may have the same slot.",
         .args = {{"pool", ArgumentKind::kTensor, "[pages, page_size, kv_heads, d], float"},
                  {"new", ArgumentKind::kTensor, "[b, n, kv_heads, d], float"},
                  table,
                  lengths},
         .attrs = {},
         .inout = {0},
         .deduce = deduce_append,
         .legalize = legalize_append,
         .reference = reference::kv_append,
         .generator = {{4}, float_dtypes(), -2, 2, generate_append}},
        {.name = "paged_attention",
         .doc = "Causal grouped-query attention over the paged cache, after kv_append: query i of "
                "batch b has position t = lengths[b] + i and attends to positions 0 .. t, with a "
                "`window` w only to t - w + 1 .. t, with a `chunk` c only to those of floor(t / c) "
                "* c "
                ".. t, with weights softmax(s) of the scores s = "
                "scale * q.k, with a `soft_cap` c softmax(c * tanh(s / c)); query head h uses "
                "key-value head h / (heads / kv_heads). The pools of keys and values may be the "
                "same, as "
                "with latent attention (DeepSeek-AI 2024). The result is [b, n, heads, width]. "
                "Computed in f32.",
         .args = attended,
         .attrs = attrs,
         .inout = {},
         .deduce = deduce_attention,
         .legalize = legalize_attention,
         .reference = reference::paged_attention,
         .generator = {{4}, float_dtypes(), -2, 2, generate_attention}},
        {.name = "paged_attention_with_sinks",
         .doc =
             "paged_attention whose softmax has one more score in each head, sinks[h], without a "
             "value: the weights of the positions that a query sees sum to less than 1 (Xiao et "
             "al. 2023; gpt-oss). The scale and the cap do not apply to it.",
         .args = with_sinks,
         .attrs = attrs,
         .inout = {},
         .deduce = deduce_attention,
         .legalize = legalize_attention,
         .reference = reference::paged_attention_with_sinks,
         .generator = {{4}, float_dtypes(), -2, 2, generate_attention_with_sinks}},
        {.name = "paged_attention_ahead",
         .doc =
             "paged_attention whose query i of batch b, at position t, attends up to position t + "
             "ahead[b, i], but not beyond the last of the call's, lengths[b] + n - 1. The first "
             "position, by a window or a chunk, is that of paged_attention. Tokens of an image "
             "see each other so (Gemma Team 2025).",
         .args = with_ahead,
         .attrs = attrs,
         .inout = {},
         .deduce = deduce_attention,
         .legalize = legalize_attention,
         .reference = reference::paged_attention_ahead,
         .generator = {{4}, float_dtypes(), -2, 2, generate_attention_ahead}},
        {.name = "paged_attention_with_slopes",
         .doc = "paged_attention whose score of position t, for a query at position p, is less by "
                "slopes[h] * (p - t) in head h: linear biases in place of rotated or learned "
                "positions (Press et al. 2022). The scale and the cap do not apply to them.",
         .args = with_slopes,
         .attrs = attrs,
         .inout = {},
         .deduce = deduce_attention,
         .legalize = legalize_attention,
         .reference = reference::paged_attention_with_slopes,
         .generator = {{4}, float_dtypes(), -2, 2, generate_attention_with_slopes}},
    };
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
