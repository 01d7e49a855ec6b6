// Matrix products.
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

bool is_flat(const Known& b) { return b.ndim == 2; }

// Last two dimensions of b as (k, n).
std::pair<PrimExpr, PrimExpr> inner_dims(const CallView& call, const Dims& b) {
  PrimExpr first = b[b.size() - 2], second = b[b.size() - 1];
  return call.flag("transpose_b") ? std::pair(second, first) : std::pair(first, second);
}

relax::Annotation deduce(const CallView& call) {
  for (size_t i : {0, 1}) {
    expect_float(call, i);
    expect_min_ndim(call, i, 2);
  }
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  Known result;
  if (a.ndim != relax::kUnknownNdim && b.ndim != relax::kUnknownNdim) {
    result.ndim = std::max(a.ndim, b.ndim);
  }
  if (const auto* dtype = find_attr<DType>(call.attrs, "out_dtype")) {
    if (!is_float(*dtype)) {
      call.error("out_dtype is not a float dtype", "a float dtype", dtype_name(*dtype));
    }
    result.dtype = *dtype;
  } else if (a.dtype && b.dtype) {
    result.dtype = promoted(call, *a.dtype, *b.dtype);
  }
  if (a.shape && b.shape) {
    auto [k, n] = inner_dims(call, *b.shape);
    const PrimExpr& a_k = a.shape->back();
    if (provably_different(a_k, k)) {
      call.error("the reduced dimensions of a and b differ", to_string(a_k) + " (from a)",
                 to_string(k) + " (from b)");
    }
    expect_same_dim(call, a_k, k, "reduced of a and b");
    Dims batch(a.shape->begin(), a.shape->end() - 2);
    std::optional<Dims> all = batch;
    if (!is_flat(b)) all = broadcast(call, batch, Dims(b.shape->begin(), b.shape->end() - 2));
    if (all) {
      result.shape = *all;
      result.shape->push_back((*a.shape)[a.ndim - 2]);
      result.shape->push_back(n);
    }
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce(call));
  const tir::Buffer& a = lowering.arg(0);
  const tir::Buffer& b = lowering.arg(1);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute =
      accumulation_dtype(promoted(call, promoted(call, a->dtype, b->dtype), out->dtype));
  bool transposed = call.flag("transpose_b");

  Dims a_batch(a->shape.begin(), a->shape.end() - 2);
  Dims b_batch(b->shape.begin(), b->shape.end() - 2);
  Dims out_batch(out->shape.begin(), out->shape.end() - 2);
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    std::vector<Var> batch(i.begin(), i.end() - 2);
    std::vector<PrimExpr> a_index = broadcast_index(a_batch, out_batch, batch);
    a_index.insert(a_index.end(), {i[i.size() - 2], r[0]});
    std::vector<PrimExpr> b_index = broadcast_index(b_batch, out_batch, batch);
    if (transposed) {
      b_index.insert(b_index.end(), {i.back(), r[0]});
    } else {
      b_index.insert(b_index.end(), {r[0], i.back()});
    }
    return cast(compute, tir::load(a, a_index)) * cast(compute, tir::load(b, b_index));
  };
  add_reduction(lowering, "matmul", out, compute, {a->shape.back()}, number(0, compute), sum_of,
                term);
  return lowering.finish();
}

}  // namespace

std::span<const OperatorInfo> matmul_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "matmul",
       .doc = "Matrix product a[..., m, k] by b[k, n] (or b[n, k] with transpose_b) to "
              "[..., m, n]. A b of rank 2 serves every leading index of a; a b of higher rank has "
              "leading dimensions that broadcast with a's. Operands may be of different float "
              "dtypes; products and sums are kept in f32 (f64 where an operand is f64).",
       .args = {{"a", ArgumentKind::kTensor, "[..., m, k], float"},
                {"b", ArgumentKind::kTensor, "[..., k, n] or [..., n, k], float"}},
       .attrs = {{"transpose_b", AttributeKind::kBool, false, false,
                  "b's last two dimensions are (n, k)"},
                 {"out_dtype",
                  AttributeKind::kDType,
                  false,
                  {},
                  "dtype of the result; default: the operands', f32 where they differ"}},
       .inout = {},
       .deduce = deduce,
       .legalize = legalize,
       .reference = reference::matmul,
       .generator = {{2, 3}, {DType::kF32, DType::kF16, DType::kBF16}}},
  };
  return kOperators;
}

}  // namespace tapml::op
