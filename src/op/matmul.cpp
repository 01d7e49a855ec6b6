// Matrix products.
#include <algorithm>

#include "op/accumulation.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/products.h"

namespace tapml::op {

namespace {

bool is_vector(const Known& x) { return x.ndim == 1; }

// The matrix dimensions of an operand: (rows, columns) after its transpose flag. A vector is a row
// on the left and a column on the right; flags do not affect it.
struct Matrix {
  bool vector = false, transposed = false;
  Dims batch;
  PrimExpr rows, columns;

  Matrix(const Dims& shape, bool left, bool transpose)
      : vector(shape.size() == 1), transposed(transpose && !vector) {
    if (vector) {
      rows = left ? PrimExpr(1) : shape[0];
      columns = left ? shape[0] : PrimExpr(1);
      return;
    }
    batch.assign(shape.begin(), shape.end() - 2);
    rows = shape[shape.size() - (transposed ? 1 : 2)];
    columns = shape[shape.size() - (transposed ? 2 : 1)];
  }

  // Index of element (row, column), after that of the batch.
  std::vector<PrimExpr> index(std::vector<PrimExpr> at, const PrimExpr& row, const PrimExpr& column,
                              bool left) const {
    if (vector) {
      at.push_back(left ? column : row);
    } else {
      at.push_back(transposed ? column : row);
      at.push_back(transposed ? row : column);
    }
    return at;
  }
};

// The type of products and sums: f32 for narrow floats, the result's dtype for integers.
DType compute_dtype(const CallView& call, DType a, DType b, DType out) {
  if (!is_float(out)) return out;
  return accumulation_dtype(promoted(call, promoted(call, a, b), out));
}

std::optional<DType> result_dtype(const CallView& call, const Known& a, const Known& b) {
  std::optional<DType> operands;
  if (a.dtype && b.dtype) operands = promoted(call, *a.dtype, *b.dtype);
  const auto* asked = find_attr<DType>(call.attrs, "out_dtype");
  if (!asked) return operands;
  std::optional<DType> known = operands ? operands : a.dtype ? a.dtype : b.dtype;
  if (*asked == DType::kBool || (known && is_float(*known) != is_float(*asked))) {
    call.error("out_dtype differs in kind from the operands",
               known && !is_float(*known) ? "an integer dtype" : "a float dtype",
               dtype_name(*asked));
  }
  return *asked;
}

relax::Annotation deduce_matmul(const CallView& call) {
  for (size_t i : {0, 1}) {
    expect_min_ndim(call, i, 1);
    expect_number(call, i);
  }
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  Known result;
  if (a.ndim != relax::kUnknownNdim && b.ndim != relax::kUnknownNdim) {
    result.ndim = std::max({a.ndim, b.ndim, 2}) - is_vector(a) - is_vector(b);
  }
  result.dtype = result_dtype(call, a, b);
  if (a.dtype && b.dtype) check_accumulation(call, *a.dtype, *b.dtype);
  if (a.shape && b.shape) {
    Matrix left(*a.shape, true, call.flag("transpose_a"));
    Matrix right(*b.shape, false, call.flag("transpose_b"));
    if (provably_different(left.columns, right.rows)) {
      call.error("the reduced dimensions of a and b differ", to_string(left.columns) + " (from a)",
                 to_string(right.rows) + " (from b)");
    }
    expect_same_dim(call, left.columns, right.rows, "reduced of a and b");
    result.shape = broadcast(call, left.batch, right.batch);
    if (result.shape) {
      if (!left.vector) result.shape->push_back(left.rows);
      if (!right.vector) result.shape->push_back(right.columns);
    }
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_matmul(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_matmul(call));
  const tir::Buffer& a = lowering.arg(0);
  const tir::Buffer& b = lowering.arg(1);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute = compute_dtype(call, a->dtype, b->dtype, out->dtype);
  Matrix left(a->shape, true, call.flag("transpose_a"));
  Matrix right(b->shape, false, call.flag("transpose_b"));
  Dims batch = *broadcast(call, left.batch, right.batch);
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    std::vector<Var> outer(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(batch.size()));
    PrimExpr row = left.vector ? PrimExpr(0) : i[batch.size()];
    PrimExpr column = right.vector ? PrimExpr(0) : i.back();
    auto x = left.index(broadcast_index(left.batch, batch, outer), row, r[0], true);
    auto y = right.index(broadcast_index(right.batch, batch, outer), r[0], column, false);
    return cast(compute, tir::load(a, x)) * cast(compute, tir::load(b, y));
  };
  add_reduction(lowering, "matmul", out, compute, {left.columns}, number(0, compute), sum_of, term);
  return lowering.finish();
}

// ---- outer

relax::Annotation deduce_outer(const CallView& call) {
  Known result;
  result.ndim = 2;
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  for (size_t i : {0, 1}) {
    expect_ndim(call, i, 1);
    expect_number(call, i);
  }
  if (a.dtype && b.dtype) result.dtype = promoted(call, *a.dtype, *b.dtype);
  if (a.shape && b.shape) result.shape = {(*a.shape)[0], (*b.shape)[0]};
  return tensor_result(result);
}

tir::PrimFuncRef legalize_outer(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_outer(call));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute = accumulation_dtype(out->dtype);
  lowering.add(tir::compute("outer", out, [&](const std::vector<Var>& i) {
    PrimExpr a = cast(compute, tir::load(lowering.arg(0), {i[0]}));
    PrimExpr b = cast(compute, tir::load(lowering.arg(1), {i[1]}));
    return cast(out->dtype, a * b);
  }));
  return lowering.finish();
}

// ---- linear

relax::Annotation deduce_linear(const CallView& call) {
  expect_min_ndim(call, 0, 1);
  expect_ndim(call, 1, 2);
  expect_ndim(call, 2, 1);
  for (size_t i : {0, 1, 2}) expect_float(call, i);
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1), bias = known_tensor(call, 2);
  Known result;
  result.ndim = x.ndim;
  if (x.dtype && weight.dtype && bias.dtype) {
    result.dtype = promoted(call, promoted(call, *x.dtype, *weight.dtype), *bias.dtype);
  }
  if (weight.shape && bias.shape) {
    expect_same_dim(call, (*weight.shape)[0], (*bias.shape)[0], "weight.0 and bias.0");
  }
  if (x.shape && weight.shape) {
    expect_same_dim(call, x.shape->back(), (*weight.shape)[1], "x.-1 and weight.1");
    result.shape = *x.shape;
    result.shape->back() = (*weight.shape)[0];
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_linear(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_linear(call));
  const tir::Buffer &x = lowering.arg(0), &weight = lowering.arg(1), &bias = lowering.arg(2);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute = accumulation_dtype(out->dtype);
  tir::Buffer total = lowering.workspace("linear_total", out->shape, compute);
  lowering.add(tir::reduce("linear", total, {x->shape.back()}, number(0, compute), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             std::vector<PrimExpr> at(i);
                             at.back() = r[0];
                             return cast(compute, tir::load(x, at)) *
                                    cast(compute, tir::load(weight, {i.back(), r[0]}));
                           }));
  lowering.add(tir::compute("linear_out", out, [&](const std::vector<Var>& i) {
    return cast(out->dtype, tir::load(total, i) + cast(compute, tir::load(bias, {i.back()})));
  }));
  return lowering.finish();
}

// ---- random calls

GeneratedTensor like(const GeneratedTensor& first, Shape shape) {
  GeneratedTensor tensor = first;
  tensor.shape = std::move(shape);
  return tensor;
}

bool generate_matmul(GeneratedCall& call, RandomStream& rng) {
  const std::vector<int64_t> kExtents = {0, 1, 2, 5, 16, 17};
  GeneratedTensor& a = call.args[0].tensors[0];
  keep_moderate(a.shape, 4096);
  bool transpose_a = rng.chance(0.3), transpose_b = rng.chance(0.5);
  size_t rank = a.shape.size();
  Shape batch(a.shape.begin(), a.shape.end() - (rank > 1 ? 2 : 1));
  int64_t k = rank > 1 && transpose_a ? a.shape[rank - 2] : a.shape[rank - 1];
  Shape b = {k};
  if (!rng.chance(0.2)) {
    int64_t n = pick(kExtents, rng);
    b = transpose_b ? Shape{n, k} : Shape{k, n};
    Shape outer = broadcast_partner(batch, rng);
    if (outer.size() == batch.size() && rng.chance(0.3)) outer.insert(outer.begin(), 2);
    if (rng.chance(0.3)) outer.clear();
    b.insert(b.begin(), outer.begin(), outer.end());
  }
  call.args.push_back({{like(a, b)}, {}});
  call.attrs["transpose_a"] = transpose_a;
  call.attrs["transpose_b"] = transpose_b;
  if (a.dtype == DType::kI8) {
    if (rng.chance(0.5)) call.attrs["out_dtype"] = DType::kI32;
  } else if (is_float(a.dtype) && a.dtype != DType::kF64 && rng.chance(0.3)) {
    call.attrs["out_dtype"] = DType::kF32;
  }
  return true;
}

bool generate_outer(GeneratedCall& call, RandomStream& rng) {
  const std::vector<int64_t> kExtents = {0, 1, 3, 16, 17};
  call.args.push_back({{like(call.args[0].tensors[0], {pick(kExtents, rng)})}, {}});
  return true;
}

bool generate_linear(GeneratedCall& call, RandomStream& rng) {
  const std::vector<int64_t> kExtents = {0, 1, 3, 16, 17};
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 4096);
  int64_t n = pick(kExtents, rng);
  GeneratedTensor weight = like(x, {n, x.shape.back()}), bias = like(x, {n});
  call.args.push_back({{weight}, {}});
  call.args.push_back({{bias}, {}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> matmul_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "matmul",
       .doc = "Matrix product a[..., m, k] by b[..., k, n] to [..., m, n]. Leading dimensions "
              "broadcast. An operand of rank 1 is a row on the left and a column on the right, and "
              "the result lacks that dimension: vectors give a scalar. Float operands may differ "
              "in dtype; products and sums are kept in f32 (f64 where an operand is f64). Integer "
              "operands are of one dtype; sums wrap in the result's.",
       .args = {{"a", ArgumentKind::kTensor, "[..., m, k], [..., k, m] or [k], floats or integers"},
                {"b", ArgumentKind::kTensor, "[..., k, n], [..., n, k] or [k]"}},
       .attrs = {{"transpose_a", AttributeKind::kBool, false, false,
                  "a's last two dimensions are (k, m)"},
                 {"transpose_b", AttributeKind::kBool, false, false,
                  "b's last two dimensions are (n, k)"},
                 {"out_dtype",
                  AttributeKind::kDType,
                  false,
                  {},
                  "dtype of the result, a float for floats and an integer for integers; default: "
                  "the operands', f32 where they differ"},
                 accumulation_attribute()},
       .inout = {},
       .deduce = deduce_matmul,
       .legalize = legalize_matmul,
       .reference = reference::matmul,
       .generator = {{1, 2, 3, 4}, number_dtypes(), -2, 2, generate_matmul}},
      {.name = "outer",
       .doc = "Outer product of two vectors: out[i, j] = a[i] * b[j]; integers wrap.",
       .args = {{"a", ArgumentKind::kTensor, "[m], floats or integers"},
                {"b", ArgumentKind::kTensor, "[n]"}},
       .attrs = {},
       .inout = {},
       .deduce = deduce_outer,
       .legalize = legalize_outer,
       .reference = reference::outer,
       .generator = {{1}, number_dtypes(), -2, 2, generate_outer}},
      {.name = "linear",
       .doc = "x times the transpose of weight, plus bias, as in linear layers; computed "
              "in f32 (f64 where an operand is f64) and rounded once.",
       .args = {{"x", ArgumentKind::kTensor, "[..., k], float"},
                {"weight", ArgumentKind::kTensor, "[n, k], float"},
                {"bias", ArgumentKind::kTensor, "[n], float"}},
       .attrs = {},
       .inout = {},
       .deduce = deduce_linear,
       .legalize = legalize_linear,
       .reference = reference::linear,
       .generator = {{1, 2, 3}, float_dtypes(), -2, 2, generate_linear}},
  };
  return kOperators;
}

}  // namespace tapml::op
