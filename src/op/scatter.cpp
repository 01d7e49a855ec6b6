// Operators that write elements at indices held in tensors.
//
// Writes run in row-major order of the indices: if two write the same element, the later one wins,
// and sums are taken in this order, on every platform. Writes that cannot collide run in parallel:
// the lines along the axis of scatter, the elements of a slice of scatter_nd.
#include <algorithm>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/indices.h"
#include "op/reference/indexing.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

enum ScatterArgument : size_t { kData, kIndices, kUpdates };

void expect_same_dtype(const CallView& call, const Known& data, const Known& updates,
                       const char* what) {
  if (!data.dtype || !updates.dtype || *data.dtype == *updates.dtype) return;
  call.error(std::string(what) + " have a different dtype than x", dtype_name(*data.dtype),
             dtype_name(*updates.dtype));
}

// The result during writing: sums of narrow floats are kept in f32.
class Target {
 public:
  Target(Lowering& lowering, const tir::Buffer& data, bool adds)
      : lowering_(lowering), out_(lowering.output("out", data->shape, data->dtype)), adds_(adds) {
    DType wide = adds ? accumulation_dtype(data->dtype) : data->dtype;
    cell_ = wide == data->dtype ? out_ : lowering.workspace("sums", data->shape, wide);
  }
  const tir::Buffer& buffer() const { return cell_; }
  tir::Stmt start(const tir::Buffer& data, const Index& at) const {
    return tir::make_store(cell_, at, cast(cell_->dtype, tir::load(data, at)));
  }
  tir::Stmt put(const Index& at, const PrimExpr& update) const {
    PrimExpr value = cast(cell_->dtype, update);
    return tir::make_store(cell_, at, adds_ ? tir::load(cell_, at) + value : value);
  }
  void finish() {
    if (cell_ == out_) return;
    lowering_.add(tir::compute("scatter_out", out_, [&](const std::vector<Var>& i) {
      return cast(out_->dtype, tir::load(cell_, Index(i.begin(), i.end())));
    }));
  }

 private:
  Lowering& lowering_;
  tir::Buffer out_, cell_;
  bool adds_;
};

// ---- scatter and scatter_add

relax::Annotation deduce_scatter(const CallView& call) {
  Known x = known_tensor(call, kData), indices = known_tensor(call, kIndices);
  Known updates = known_tensor(call, kUpdates);
  expect_min_ndim(call, kData, 1);
  expect_index_dtype(call, kIndices);
  expect_same_dtype(call, x, updates, "updates");
  if (call.info.name == std::string("scatter_add")) expect_number(call, kData);
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  expect_ndim(call, kIndices, x.ndim);
  expect_ndim(call, kUpdates, x.ndim);
  int64_t axis = normalized_axis(call, call.integer("axis"), x.ndim);
  for (int d = 0; d < x.ndim; ++d) {
    std::string index = std::to_string(d);
    if (indices.shape && updates.shape) {
      expect_same_dim(call, (*indices.shape)[d], (*updates.shape)[d],
                      "indices." + index + " and updates." + index);
    }
    if (indices.shape && x.shape && d != axis) {
      expect_at_most(call, (*indices.shape)[d], (*x.shape)[d],
                     "indices." + index + " and x." + index);
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_scatter(const CallView& call) {
  Lowering lowering(call);
  deduce_scatter(call);
  const tir::Buffer &x = lowering.arg(kData), &indices = lowering.arg(kIndices);
  const tir::Buffer& updates = lowering.arg(kUpdates);
  auto axis = normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size()));
  Target target(lowering, x, call.info.name == std::string("scatter_add"));
  Dims lines = x->shape;
  lines.erase(lines.begin() + axis);
  lowering.add(tir::block(call.info.name, lines, [&](const std::vector<Var>& i) {
    Var k = make_var("k"), u = make_var("u");
    Index at(i.begin(), i.end()), from(i.begin(), i.end());
    at.insert(at.begin() + axis, k);
    from.insert(from.begin() + axis, u);
    tir::Stmt copy = tir::make_for(k, x->shape[axis], target.start(x, at));
    AxisIndex chosen = axis_index(indices, from, x->shape[axis]);
    at[axis] = chosen.index;
    tir::Stmt write =
        tir::make_for(u, indices->shape[axis],
                      tir::make_if(chosen.valid, target.put(at, tir::load(updates, from))));
    // The indices may cover only the beginning of x.
    PrimExpr covered = make_bool(true);
    for (size_t d = 0; d < from.size(); ++d) {
      if (static_cast<int64_t>(d) == axis) continue;
      if (provably_equal(indices->shape[d], x->shape[d])) continue;
      covered = logical_and(covered, lt(from[d], indices->shape[d]));
    }
    if (!covered.is_int(1)) write = tir::make_if(covered, write);
    return tir::make_seq({copy, write});
  }));
  target.finish();
  return lowering.finish();
}

bool generate_scatter(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 2048);
  int64_t axis = random_axis(x.shape.size(), rng);
  auto front = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.shape.size()) : axis);
  Shape hit = x.shape;
  for (size_t d = 0; d < hit.size(); ++d) {
    if (d == front) {
      hit[d] = rng.between(0, 9);
    } else if (rng.chance(0.3)) {
      hit[d] = rng.between(0, hit[d]);
    }
  }
  GeneratedTensor updates = x;
  updates.shape = hit;
  GeneratedTensor indices = random_indices(hit, x.shape[front], rng);
  call.args.push_back({{indices}, {}});
  call.args.push_back({{updates}, {}});
  call.attrs["axis"] = axis;
  return true;
}

// ---- scatter_nd and index_put

// Writes slices: `tuples` are the loops over the index tuples, `depth` is the number of leading
// axes of x that are indexed, `index(t, d)` the index of loop point t into axis d, `update(t, i)`
// the update of slice element i.
template <class IndexOf, class UpdateOf>
tir::PrimFuncRef write_slices(Lowering& lowering, const char* name, const tir::Buffer& x,
                              const Dims& tuples, size_t depth, bool adds, IndexOf&& index,
                              UpdateOf&& update) {
  Target target(lowering, x, adds);
  lowering.add(tir::compute("scatter_copy", target.buffer(), [&](const std::vector<Var>& i) {
    return cast(target.buffer()->dtype, tir::load(x, Index(i.begin(), i.end())));
  }));
  Dims inner(x->shape.begin() + static_cast<std::ptrdiff_t>(depth), x->shape.end());
  lowering.add(tir::block(name, inner, [&](const std::vector<Var>& i) {
    std::vector<Var> loops;
    for (size_t t = 0; t < tuples.size(); ++t) loops.push_back(make_var("t" + std::to_string(t)));
    Index at;
    PrimExpr valid = make_bool(true);
    for (size_t d = 0; d < depth; ++d) {
      AxisIndex chosen = index(loops, d);
      at.push_back(chosen.index);
      valid = logical_and(valid, chosen.valid);
    }
    at.insert(at.end(), i.begin(), i.end());
    tir::Stmt body = target.put(at, update(loops, i));
    if (depth > 0) body = tir::make_if(valid, body);
    for (size_t t = tuples.size(); t-- > 0;) body = tir::make_for(loops[t], tuples[t], body);
    return body;
  }));
  target.finish();
  return lowering.finish();
}

relax::Annotation deduce_scatter_nd(const CallView& call) {
  Known x = known_tensor(call, kData), indices = known_tensor(call, kIndices);
  Known updates = known_tensor(call, kUpdates);
  expect_min_ndim(call, kIndices, 1);
  expect_index_dtype(call, kIndices);
  expect_same_dtype(call, x, updates, "updates");
  if (call.flag("accumulate")) expect_number(call, kData);
  if (x.ndim == relax::kUnknownNdim || !indices.shape) return tensor_result(x);
  int64_t depth = index_depth(call, *indices.shape, x.ndim);
  expect_ndim(call, kUpdates, indices.ndim - 1 + x.ndim - static_cast<int>(depth));
  if (x.shape && updates.shape) {
    Dims wanted(indices.shape->begin(), indices.shape->end() - 1);
    wanted.insert(wanted.end(), x.shape->begin() + depth, x.shape->end());
    for (size_t d = 0; d < wanted.size(); ++d) {
      expect_same_dim(call, (*updates.shape)[d], wanted[d],
                      "updates." + std::to_string(d) + " and the written slices");
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_scatter_nd(const CallView& call) {
  Lowering lowering(call);
  deduce_scatter_nd(call);
  const tir::Buffer &x = lowering.arg(kData), &indices = lowering.arg(kIndices);
  const tir::Buffer& updates = lowering.arg(kUpdates);
  auto depth =
      static_cast<size_t>(index_depth(call, indices->shape, static_cast<int>(x->shape.size())));
  Dims tuples(indices->shape.begin(), indices->shape.end() - 1);
  return write_slices(
      lowering, "scatter_nd", x, tuples, depth, call.flag("accumulate"),
      [&](const std::vector<Var>& t, size_t d) {
        Index at(t.begin(), t.end());
        at.push_back(static_cast<int64_t>(d));
        return axis_index(indices, at, x->shape[d]);
      },
      [&](const std::vector<Var>& t, const std::vector<Var>& i) {
        Index at(t.begin(), t.end());
        at.insert(at.end(), i.begin(), i.end());
        return tir::load(updates, at);
      });
}

bool generate_scatter_nd(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 1024);
  auto depth = static_cast<size_t>(rng.between(0, static_cast<int64_t>(x.shape.size())));
  int64_t least = 8;
  for (size_t d = 0; d < depth; ++d) least = std::min(least, x.shape[d]);
  Shape tuples;
  for (int64_t rank = rng.between(0, 2); rank > 0; --rank) tuples.push_back(rng.between(0, 4));
  GeneratedTensor updates = x;
  updates.shape = tuples;
  updates.shape.insert(updates.shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(depth),
                       x.shape.end());
  tuples.push_back(static_cast<int64_t>(depth));
  bool adds = x.dtype != DType::kBool && rng.chance(0.5);
  call.args.push_back({{random_indices(tuples, least, rng)}, {}});
  call.args.push_back({{updates}, {}});
  call.attrs["accumulate"] = adds;
  return true;
}

enum PutArgument : size_t { kPutData, kPutValues, kPutIndices };

// The broadcast shape of index_put's index tensors; std::nullopt if unknown.
std::optional<Dims> index_shape(const CallView& call) {
  const auto* tuple = relax::as_tuple(call.annotations[kPutIndices]);
  if (!tuple) return std::nullopt;
  std::optional<Dims> shape = Dims();
  for (size_t f = 0; f < tuple->fields.size(); ++f) {
    Known next = known_tensor(call, tuple->fields[f], "indices " + std::to_string(f));
    expect_index_dtype(call, next, "indices " + std::to_string(f));
    if (!shape || !next.shape) {
      shape.reset();
    } else {
      shape = broadcast(call, *shape, *next.shape);
    }
  }
  return shape;
}

// The shape that index_put writes: the indices' shape, then the remaining dimensions of x.
Dims written_shape(const Dims& indices, const Dims& x, size_t depth) {
  Dims written = indices;
  written.insert(written.end(), x.begin() + static_cast<std::ptrdiff_t>(depth), x.end());
  return written;
}

relax::Annotation deduce_index_put(const CallView& call) {
  Known x = known_tensor(call, kPutData), values = known_tensor(call, kPutValues);
  expect_same_dtype(call, x, values, "values");
  if (call.flag("accumulate")) expect_number(call, kPutData);
  std::optional<Dims> shape = index_shape(call);
  const auto* tuple = relax::as_tuple(call.annotations[kPutIndices]);
  if (!tuple || x.ndim == relax::kUnknownNdim) return tensor_result(x);
  size_t depth = tuple->fields.size();
  if (depth == 0 || depth > static_cast<size_t>(x.ndim)) {
    call.error("the number of index tensors is out of range", "1 to " + std::to_string(x.ndim),
               std::to_string(depth));
  }
  if (shape && x.shape && values.shape) {
    Dims written = written_shape(*shape, *x.shape, depth);
    if (values.shape->size() > written.size()) {
      call.error("values have more dimensions than the written slices", dims_text(written),
                 dims_text(*values.shape));
    }
    for (size_t d = 0; d < values.shape->size(); ++d) {
      expect_broadcast_dim(call, (*values.shape)[d],
                           written[written.size() - values.shape->size() + d],
                           "values." + std::to_string(d) + " and the written slices");
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_index_put(const CallView& call) {
  Lowering lowering(call);
  deduce_index_put(call);
  const tir::Buffer &x = lowering.arg(kPutData), &values = lowering.arg(kPutValues);
  std::optional<Dims> tuples = index_shape(call);
  if (!tuples) {
    call.error("the shapes of the indices may not be compatible", "provably compatible shapes");
  }
  size_t depth = lowering.field_count(kPutIndices);
  Dims written = written_shape(*tuples, x->shape, depth);
  return write_slices(
      lowering, "index_put", x, *tuples, depth, call.flag("accumulate"),
      [&](const std::vector<Var>& t, size_t d) {
        const tir::Buffer& indices = lowering.arg(kPutIndices, d);
        return axis_index(indices, broadcast_index(indices->shape, *tuples, t), x->shape[d]);
      },
      [&](const std::vector<Var>& t, const std::vector<Var>& i) {
        std::vector<Var> all = t;
        all.insert(all.end(), i.begin(), i.end());
        return tir::load(values, broadcast_index(values->shape, written, all));
      });
}

bool generate_index_put(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 1024);
  auto depth = static_cast<size_t>(rng.between(1, static_cast<int64_t>(x.shape.size())));
  Shape tuples;
  for (int64_t rank = rng.between(0, 2); rank > 0; --rank) tuples.push_back(rng.between(0, 4));
  GeneratedTensor values = x;
  values.shape = tuples;
  values.shape.insert(values.shape.end(), x.shape.begin() + static_cast<std::ptrdiff_t>(depth),
                      x.shape.end());
  if (rng.chance(0.4)) values.shape = broadcast_partner(values.shape, rng);
  GeneratedArg indices;
  for (size_t d = 0; d < depth; ++d) {
    Shape shape = d == 0 ? tuples : broadcast_partner(tuples, rng);
    indices.tensors.push_back(random_indices(shape, x.shape[d], rng));
  }
  bool adds = x.dtype != DType::kBool && rng.chance(0.5);
  call.args.push_back({{values}, {}});
  call.args.push_back(indices);
  call.attrs["accumulate"] = adds;
  return true;
}

}  // namespace

std::span<const OperatorInfo> scatter_operators() {
  const ArgumentSpec x = {"x", ArgumentKind::kTensor, "any dtype; not bool where values are added"};
  const AttributeSpec axis = {"axis", AttributeKind::kInt, false, int64_t{0},
                              "negative from the end"};
  const AttributeSpec accumulate = {"accumulate", AttributeKind::kBool, false, false,
                                    "values are added instead of stored"};
  const ArgumentSpec axis_indices = {
      "indices", ArgumentKind::kTensor,
      "i32 or i64, of x's rank, no dimension but the axis larger than x's"};
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "scatter",
       .doc = "x with elements replaced along an axis: for axis 1 the result at "
              "(i, indices[i, j, k], k) is updates[i, j, k]. A negative index counts from the end, "
              "one outside the axis writes nothing; of several writes to one element the last in "
              "row-major order stays.",
       .args = {x,
                axis_indices,
                {"updates", ArgumentKind::kTensor, "x's dtype, the shape of the indices"}},
       .attrs = {axis},
       .inout = {},
       .deduce = deduce_scatter,
       .legalize = legalize_scatter,
       .reference = reference::scatter,
       .generator = {{1, 2, 3}, all_dtypes(), -100, 100, generate_scatter}},
      {.name = "scatter_add",
       .doc = "x with `updates` added along an axis, to the elements that scatter would replace, "
              "in row-major order; sums are kept in f32 for narrower floats, integers wrap.",
       .args = {x,
                axis_indices,
                {"updates", ArgumentKind::kTensor, "x's dtype, the shape of the indices"}},
       .attrs = {axis},
       .inout = {},
       .deduce = deduce_scatter,
       .legalize = legalize_scatter,
       .reference = reference::scatter_add,
       .generator = {{1, 2, 3}, number_dtypes(), -20, 20, generate_scatter}},
      {.name = "scatter_nd",
       .doc = "x with slices replaced, or added to, at tuples of indices into its first q "
              "dimensions; a tuple with an index outside writes nothing. Indices, order and sums "
              "as scatter and scatter_add.",
       .args = {x,
                {"indices", ArgumentKind::kTensor, "[..., q], i32 or i64, q constant"},
                {"updates", ArgumentKind::kTensor,
                 "the leading dimensions of the indices, then x's after the first q"}},
       .attrs = {accumulate},
       .inout = {},
       .deduce = deduce_scatter_nd,
       .legalize = legalize_scatter_nd,
       .reference = reference::scatter_nd,
       .generator = {{0, 1, 2, 3}, all_dtypes(), -20, 20, generate_scatter_nd}},
      {.name = "index_put",
       .doc = "x with slices replaced, or added to, at indices into its first axes, one tensor per "
              "axis: x[i0, i1, ...] = values, as NumPy and PyTorch write it. Indices, order and "
              "sums as scatter_nd.",
       .args = {x,
                {"values", ArgumentKind::kTensor,
                 "x's dtype; broadcasts to the indices' shape and x's dimensions after them"},
                {"indices", ArgumentKind::kTensors,
                 "one for each of the first axes, i32 or i64; their shapes broadcast"}},
       .attrs = {accumulate},
       .inout = {},
       .deduce = deduce_index_put,
       .legalize = legalize_index_put,
       .reference = reference::index_put,
       .generator = {{1, 2, 3}, all_dtypes(), -20, 20, generate_index_put}},
  };
  return kOperators;
}

}  // namespace tapml::op
