// Products with matrices selected by indices: mixture of experts.
#include "op/accumulation.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/indices.h"
#include "op/reference/products.h"

namespace tapml::op {

namespace {

enum GatherMatmulArgument : size_t { kX, kWeight, kIndices };

// The dimensions of `weight` that are summed over, and that the result has.
struct MatrixDims {
  size_t terms, columns;
};
MatrixDims matrix_dims(const CallView& call) {
  return call.flag("transposed") ? MatrixDims{1, 2} : MatrixDims{2, 1};
}

relax::Annotation deduce_gather_matmul(const CallView& call) {
  expect_min_ndim(call, kX, 1);
  expect_ndim(call, kWeight, 3);
  for (size_t i : {kX, kWeight}) expect_float(call, i);
  expect_index_dtype(call, kIndices);
  Known x = known_tensor(call, kX), weight = known_tensor(call, kWeight);
  Known indices = known_tensor(call, kIndices);
  Known result;
  if (x.dtype && weight.dtype) {
    result.dtype = promoted(call, *x.dtype, *weight.dtype);
    check_accumulation(call, *x.dtype, *weight.dtype);
  }
  if (x.ndim != relax::kUnknownNdim && indices.ndim != relax::kUnknownNdim) {
    result.ndim = std::max(x.ndim - 1, indices.ndim) + 1;
  }
  const MatrixDims dims = matrix_dims(call);
  if (x.shape && weight.shape) {
    expect_same_dim(call, x.shape->back(), (*weight.shape)[dims.terms],
                    "x.-1 and weight." + std::to_string(dims.terms));
  }
  if (x.shape && weight.shape && indices.shape) {
    result.shape = broadcast(call, Dims(x.shape->begin(), x.shape->end() - 1), *indices.shape);
    if (result.shape) result.shape->push_back((*weight.shape)[dims.columns]);
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_gather_matmul(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_gather_matmul(call));
  const tir::Buffer &x = lowering.arg(kX), &weight = lowering.arg(kWeight);
  const tir::Buffer& indices = lowering.arg(kIndices);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute = accumulation_dtype(out->dtype);
  const bool transposed = call.flag("transposed");
  const Dims rows(x->shape.begin(), x->shape.end() - 1);
  const Dims outer(out->shape.begin(), out->shape.end() - 1);
  add_reduction(lowering, "gather_matmul", out, compute, {x->shape.back()}, number(0, compute),
                sum_of, [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                  const std::vector<Var> at(i.begin(), i.end() - 1);
                  std::vector<PrimExpr> from = broadcast_index(rows, outer, at);
                  from.push_back(r[0]);
                  AxisIndex chosen = axis_index(indices, broadcast_index(indices->shape, outer, at),
                                                weight->shape[0]);
                  std::vector<PrimExpr> element = {chosen.index, i.back(), r[0]};
                  if (transposed) std::swap(element[1], element[2]);
                  PrimExpr product = cast(compute, tir::load(x, from)) *
                                     cast(compute, tir::load(weight, std::move(element)));
                  return select(chosen.valid, product, number(0, compute));
                });
  return lowering.finish();
}

bool generate_gather_matmul(GeneratedCall& call, RandomStream& rng) {
  const std::vector<int64_t> kExtents = {0, 1, 3, 16, 17};
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 2048);
  GeneratedTensor weight = x;
  const int64_t count = rng.between(1, 5);
  weight.shape = {count, pick(kExtents, rng), x.shape.back()};
  if (rng.between(0, 2) == 0) {
    std::swap(weight.shape[1], weight.shape[2]);
    call.attrs["transposed"] = true;
  }
  Shape rows(x.shape.begin(), x.shape.end() - 1);
  call.args.push_back({{weight}, {}});
  call.args.push_back({{random_indices(broadcast_partner(rows, rng), count, rng)}, {}});
  return true;
}

}  // namespace

std::span<const OperatorInfo> gather_matmul_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "gather_matmul",
       .doc = "Rows of x times the transposes of matrices selected by indices, as in "
              "mixture-of-experts layers: out[..., n] = sum over k of x[..., k] * "
              "weight[indices[...], n, k]. "
              "The leading dimensions of x broadcast with those of the indices. A negative index "
              "counts from the end; one outside gives zeros. Computed in f32 (f64 where an operand "
              "is f64).",
       .args = {{"x", ArgumentKind::kTensor, "[..., k], float"},
                {"weight", ArgumentKind::kTensor, "[matrices, n, k], float"},
                {"indices", ArgumentKind::kTensor, "[...], i32 or i64"}},
       .attrs = {{"transposed", AttributeKind::kBool, false, false,
                  "whether the matrices are stored as [k, n]"},
                 accumulation_attribute()},
       .inout = {},
       .deduce = deduce_gather_matmul,
       .legalize = legalize_gather_matmul,
       .reference = reference::gather_matmul,
       .generator = {{1, 2, 3, 4}, float_dtypes(), -2, 2, generate_gather_matmul}},
  };
  return kOperators;
}

}  // namespace tapml::op
