// Operators whose results have lengths that depend on data: the positions of non-zero elements, and
// the distinct elements. A count is computed first; the operators that fill the result get it as a
// shape.
#include <algorithm>

#include "ir/symbol.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/ordering.h"
#include "op/reference/sorting.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

PrimExpr is_set(const PrimExpr& element) { return cast(DType::kBool, element); }

// Coordinates of the element at row-major position `position`.
Index coordinates(const Dims& shape, PrimExpr position) {
  Index at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    at[d] = d == 0 ? position : floormod(position, shape[d]);
    position = floordiv(position, shape[d]);
  }
  return at;
}

relax::Annotation count_annotation() { return relax::tensor_annotation({1}, DType::kI32); }

// The value of a count that a kernel computes, as a new symbolic variable.
Var read_count(BindingSink& sink, const relax::Expr& count, const char* name) {
  relax::Variable shape = sink.emit(relax::make_op_call(kTensorToShape, {count}), "count_value");
  Var symbol = make_size(name);
  sink.match_cast(shape, relax::shape_annotation({symbol}), "count_shape");
  return symbol;
}

// ---- nonzero

relax::Annotation deduce_nonzero(const CallView& call) {
  known_tensor(call, 0);
  return relax::tensor_annotation_ndim(2, DType::kI32);
}

relax::Expr decompose_nonzero(const CallView& call, BindingSink& sink) {
  call.shape(0);
  relax::Variable count = sink.emit(relax::make_op_call("nonzero_count", {call.args[0]}), "count");
  Var found = read_count(sink, count, "found");
  return sink.emit(relax::make_op_call("nonzero_fill", {call.args[0], relax::make_shape({found})}),
                   "nonzero");
}

bool generate_nonzero(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 4096);
  // Random floats are never zero.
  if (is_float(x.dtype) && rng.chance(0.5)) x.low = x.high = 0;
  return true;
}

relax::Annotation deduce_nonzero_count(const CallView& call) {
  const Known x = known_tensor(call, 0);
  if (x.shape) expect_counted(call, simplified(product(*x.shape)), "the number of elements");
  return count_annotation();
}

tir::PrimFuncRef legalize_nonzero_count(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", {1}, DType::kI32);
  lowering.add(tir::reduce("nonzero_count", out, x->shape, make_int(0, DType::kI32), sum_of,
                           [&](const std::vector<Var>&, const std::vector<Var>& r) {
                             return cast(DType::kI32,
                                         is_set(tir::load(x, Index(r.begin(), r.end()))));
                           }));
  return lowering.finish();
}

Known count_argument(const CallView& call, size_t index) {
  std::optional<Dims> count = known_dims(call, index);
  if (count && count->size() != 1) {
    call.error("the count is not a shape of one dimension", "shape(m)", dims_text(*count));
  }
  if (count && provably_less(count->front(), 0)) {
    call.error("the count is negative", "at least 0", to_string(count->front()));
  }
  return {count, 1, std::nullopt};
}

relax::Annotation deduce_nonzero_fill(const CallView& call) {
  Known x = known_tensor(call, 0), result = count_argument(call, 1);
  result.dtype = DType::kI32;
  result.ndim = 2;
  if (x.ndim == relax::kUnknownNdim) {
    result.shape.reset();
  } else if (result.shape) {
    result.shape->push_back(x.ndim);
  }
  return tensor_result(result);
}

// Elements are processed in chunks that run in parallel: each chunk counts its elements, the counts
// are summed, and each chunk writes its rows.
constexpr int64_t kChunk = 1024;

tir::PrimFuncRef legalize_nonzero_fill(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_nonzero_fill(call));
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", *result.shape, DType::kI32);
  PrimExpr size = simplified(product(x->shape));
  Dims chunks = {simplified(ceil_div(size, kChunk))};
  tir::Buffer totals = lowering.workspace("totals", chunks, DType::kI32);
  tir::Buffer starts = lowering.workspace("starts", chunks, DType::kI32);
  auto chosen = [&](const PrimExpr& position) {
    return select(lt(position, size), is_set(tir::load(x, coordinates(x->shape, position))),
                  make_bool(false));
  };
  lowering.add(tir::reduce("chunk_count", totals, {kChunk}, make_int(0, DType::kI32), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return cast(DType::kI32, chosen(i[0] * kChunk + r[0]));
                           }));
  tir::Buffer sum = tir::make_buffer("sum", DType::kI32, {1}, tir::Scope::kLocal);
  lowering.add(tir::block("chunk_start", {}, [&](const std::vector<Var>&) {
    Var c = make_var("c");
    tir::Stmt step =
        tir::make_seq({tir::make_store(starts, {c}, tir::load(sum, {0})),
                       tir::make_store(sum, {0}, tir::load(sum, {0}) + tir::load(totals, {c}))});
    return tir::make_alloc(sum, tir::make_seq({tir::make_store(sum, {0}, make_int(0, DType::kI32)),
                                               tir::make_for(c, chunks[0], step)}));
  }));
  lowering.add(tir::compute("nonzero_clear", out,
                            [&](const std::vector<Var>&) { return make_int(0, DType::kI32); }));
  tir::Buffer row = tir::make_buffer("row", DType::kI64, {1}, tir::Scope::kLocal);
  lowering.add(tir::block("nonzero_fill", chunks, [&](const std::vector<Var>& i) {
    Var r = make_var("r");
    PrimExpr position = i[0] * kChunk + r, at = tir::load(row, {0});
    Index index = coordinates(x->shape, position);
    std::vector<tir::Stmt> writes;
    for (size_t d = 0; d < index.size(); ++d) {
      writes.push_back(
          tir::make_store(out, {at, static_cast<int64_t>(d)}, cast(DType::kI32, index[d])));
    }
    std::vector<tir::Stmt> found;
    if (!writes.empty()) {
      found.push_back(tir::make_if(lt(at, out->shape[0]), tir::make_seq(writes)));
    }
    found.push_back(tir::make_store(row, {0}, at + 1));
    return tir::make_alloc(
        row, tir::make_seq(
                 {tir::make_store(row, {0}, load_index(starts, {i[0]})),
                  tir::make_for(r, kChunk, tir::make_if(chosen(position), tir::make_seq(found)))}));
  }));
  return lowering.finish();
}

bool generate_nonzero_fill(GeneratedCall& call, RandomStream& rng) {
  keep_moderate(call.args[0].tensors[0].shape, 4096);
  call.args.push_back({{}, {rng.between(0, 9)}});
  return true;
}

// ---- unique

relax::Annotation deduce_unique(const CallView& call) {
  Known x = known_tensor(call, 0);
  Known inverse = x;
  inverse.dtype = DType::kI32;
  return relax::tuple_annotation({relax::tensor_annotation_ndim(1, x.dtype), tensor_result(inverse),
                                  relax::tensor_annotation_ndim(1, DType::kI32)});
}

relax::Expr decompose_unique(const CallView& call, BindingSink& sink) {
  Dims shape = call.shape(0);
  relax::Expr flat_shape = relax::make_shape({simplified(product(shape))});
  relax::Variable flat =
      sink.emit(relax::make_op_call("reshape", {call.args[0], flat_shape}), "flat");
  relax::Variable order = sink.emit(relax::make_op_call("argsort", {flat}), "order");
  relax::Variable sorted = sink.emit(relax::make_op_call("take", {flat, order}), "sorted");
  relax::Variable count = sink.emit(relax::make_op_call("unique_count", {sorted}), "count");
  Var distinct = read_count(sink, count, "distinct");
  relax::Variable parts = sink.emit(
      relax::make_op_call("unique_fill", {sorted, order, relax::make_shape({distinct})}), "parts");
  auto field = [&](int index, const char* name) {
    return sink.emit(relax::make_get_item(parts, index), name);
  };
  relax::Variable values = field(0, "values"), inverse = field(1, "inverse");
  relax::Variable counts = field(2, "counts");
  relax::Variable shaped =
      sink.emit(relax::make_op_call("reshape", {inverse, relax::make_shape(shape)}), "inverse");
  return relax::make_tuple({values, shaped, counts});
}

bool generate_unique(GeneratedCall& call, RandomStream&) {
  keep_moderate(call.args[0].tensors[0].shape, 1024);
  return true;
}

relax::Annotation deduce_unique_count(const CallView& call) {
  expect_ndim(call, 0, 1);
  return count_annotation();
}

// 1 if a run of equal elements begins at position k.
PrimExpr starts_run(const tir::Buffer& sorted, const PrimExpr& k) {
  return select(eq(k, 0), make_bool(true),
                logical_not(same_rank(tir::load(sorted, {k - 1}), tir::load(sorted, {k}))));
}

tir::PrimFuncRef legalize_unique_count(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& sorted = lowering.arg(0);
  tir::Buffer out = lowering.output("out", {1}, DType::kI32);
  lowering.add(tir::reduce("unique_count", out, sorted->shape, make_int(0, DType::kI32), sum_of,
                           [&](const std::vector<Var>&, const std::vector<Var>& r) {
                             return cast(DType::kI32, starts_run(sorted, r[0]));
                           }));
  return lowering.finish();
}

bool generate_unique_count(GeneratedCall& call, RandomStream&) {
  keep_moderate(call.args[0].tensors[0].shape, 2048);
  call.args[0].tensors[0].order = GeneratedTensor::Order::kAscending;
  return true;
}

relax::Annotation deduce_unique_fill(const CallView& call) {
  expect_ndim(call, 0, 1);
  expect_ndim(call, 1, 1);
  expect_dtype(call, 1, DType::kI32);
  Known sorted = known_tensor(call, 0), order = known_tensor(call, 1);
  if (sorted.shape && order.shape) {
    expect_same_dim(call, sorted.shape->front(), order.shape->front(), "sorted.0 and order.0");
  }
  Known values = count_argument(call, 2), counts = values;
  values.dtype = sorted.dtype;
  counts.dtype = DType::kI32;
  order.ndim = 1;
  order.dtype = DType::kI32;
  return relax::tuple_annotation(
      {tensor_result(values), tensor_result(order), tensor_result(counts)});
}

tir::PrimFuncRef legalize_unique_fill(const CallView& call) {
  Lowering lowering(call);
  deduce_unique_fill(call);
  const tir::Buffer &sorted = lowering.arg(0), &order = lowering.arg(1);
  Dims distinct = call.shape_argument(2);
  const PrimExpr& extent = sorted->shape[0];
  tir::Buffer values = lowering.output("values", distinct, sorted->dtype);
  tir::Buffer inverse = lowering.output("inverse", {extent}, DType::kI32);
  tir::Buffer counts = lowering.output("counts", distinct, DType::kI32);
  for (const tir::Buffer& out : {values, inverse, counts}) {
    lowering.add(tir::compute("clear_" + out->name, out,
                              [&](const std::vector<Var>&) { return number(0, out->dtype); }));
  }
  tir::Buffer state = tir::make_buffer("run", DType::kI64, {1}, tir::Scope::kLocal);
  lowering.add(tir::block("unique_fill", {}, [&](const std::vector<Var>&) {
    Var k = make_var("k");
    PrimExpr run = tir::load(state, {0});
    PrimExpr place = load_index(order, {k});
    tir::Stmt begin = tir::make_if(
        starts_run(sorted, k),
        tir::make_seq({tir::make_store(state, {0}, run + 1),
                       tir::make_if(lt(run, distinct[0]),
                                    tir::make_store(values, {run}, tir::load(sorted, {k})))}));
    tir::Stmt count = tir::make_if(
        lt(run, distinct[0]),
        tir::make_store(counts, {run}, tir::load(counts, {run}) + make_int(1, DType::kI32)));
    tir::Stmt invert = tir::make_if(logical_and(le(0, place), lt(place, extent)),
                                    tir::make_store(inverse, {place}, cast(DType::kI32, run)));
    return tir::make_alloc(
        state, tir::make_seq({tir::make_store(state, {0}, -1),
                              tir::make_for(k, extent, tir::make_seq({begin, count, invert}))}));
  }));
  return lowering.finish();
}

bool generate_unique_fill(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& sorted = call.args[0].tensors[0];
  keep_moderate(sorted.shape, 2048);
  sorted.order = GeneratedTensor::Order::kAscending;
  GeneratedTensor order{DType::kI32, sorted.shape, 0, static_cast<double>(sorted.shape[0]) - 1,
                        GeneratedTensor::Order::kDistinct};
  call.args.push_back({{order}, {}});
  call.args.push_back({{}, {rng.between(0, 9)}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> selection_operators() {
  const ArgumentSpec x = {"x", ArgumentKind::kTensor, "any shape and dtype"};
  const ArgumentSpec sorted = {"sorted", ArgumentKind::kTensor, "[n], equal elements together"};
  const ArgumentSpec rows = {"count", ArgumentKind::kShape, "length of the result"};
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "nonzero",
       .doc = "Indices of the elements that are not zero (NaN is not) in row-major order, i32 "
              "[m, rank of x]. m depends on the data: a match_cast gives it a name. Made of "
              "nonzero_count, tensor_to_shape and nonzero_fill.",
       .args = {x},
       .attrs = {},
       .inout = {},
       .deduce = deduce_nonzero,
       .legalize = nullptr,
       .reference = reference::nonzero,
       .generator = {{0, 1, 2, 3}, all_dtypes(), -1, 1, generate_nonzero},
       .decompose = decompose_nonzero},
      {.name = "nonzero_count",
       .doc = "How many elements are not zero, i32[1].",
       .args = {x},
       .attrs = {},
       .inout = {},
       .deduce = deduce_nonzero_count,
       .legalize = legalize_nonzero_count,
       .reference = reference::nonzero_count,
       .generator = {{0, 1, 2, 3}, all_dtypes(), -1, 1, generate_nonzero}},
      {.name = "nonzero_fill",
       .doc = "The first m rows of nonzero, i32[m, rank of x]; zeros where there are fewer.",
       .args = {x, rows},
       .attrs = {},
       .inout = {},
       .deduce = deduce_nonzero_fill,
       .legalize = legalize_nonzero_fill,
       .reference = reference::nonzero_fill,
       .generator = {{0, 1, 2, 3}, all_dtypes(), -1, 1, generate_nonzero_fill}},
      {.name = "unique",
       .doc = "The distinct elements of x in ascending order [m], for each element of x the index "
              "of its value there (i32, x's shape), and how often each occurs (i32[m]): a tuple. "
              "NaN is one value, the greatest; zeros of either sign are one value, of which the "
              "first in x stands for both. m depends on the data: a match_cast gives it a name. "
              "Made of argsort, unique_count, tensor_to_shape and unique_fill.",
       .args = {x},
       .attrs = {},
       .outputs = 3,
       .inout = {},
       .deduce = deduce_unique,
       .legalize = nullptr,
       .reference = reference::unique,
       .generator = {{0, 1, 2, 3}, all_dtypes(), -9, 9, generate_unique},
       .decompose = decompose_unique},
      {.name = "unique_count",
       .doc = "How many runs of equal elements there are, i32[1].",
       .args = {sorted},
       .attrs = {},
       .inout = {},
       .deduce = deduce_unique_count,
       .legalize = legalize_unique_count,
       .reference = reference::unique_count,
       .generator = {{1}, all_dtypes(), -9, 9, generate_unique_count}},
      {.name = "unique_fill",
       .doc = "The first m runs of equal elements: the first element of each [m], the number of "
              "the run that order[k] belongs to at place order[k] (i32[n]), and the runs' lengths "
              "(i32[m]). Zeros where there are fewer.",
       .args = {sorted,
                {"order", ArgumentKind::kTensor, "i32[n], where each element came from"},
                rows},
       .attrs = {},
       .outputs = 3,
       .inout = {},
       .deduce = deduce_unique_fill,
       .legalize = legalize_unique_fill,
       .reference = reference::unique_fill,
       .generator = {{1}, all_dtypes(), -9, 9, generate_unique_fill}},
  };
  return kOperators;
}

}  // namespace tapml::op
