// Operators that read elements at indices held in tensors.
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_take(const CallView& call) {
  Known x = known_tensor(call, 0), indices = known_tensor(call, 1);
  expect_min_ndim(call, 0, 1);
  if (indices.dtype && *indices.dtype != DType::kI32 && *indices.dtype != DType::kI64) {
    call.error("indices have the wrong dtype", "i32 or i64", dtype_name(*indices.dtype));
  }
  Known result;
  result.dtype = x.dtype;
  if (const auto* dtype = find_attr<DType>(call.attrs, "out_dtype")) result.dtype = *dtype;
  if (x.ndim == relax::kUnknownNdim) return tensor_result(result);
  auto axis = normalized_axis(call, call.integer("axis"), x.ndim);
  if (indices.ndim != relax::kUnknownNdim) result.ndim = x.ndim - 1 + indices.ndim;
  if (x.shape && indices.shape) {
    Dims dims(x.shape->begin(), x.shape->begin() + axis);
    dims.insert(dims.end(), indices.shape->begin(), indices.shape->end());
    dims.insert(dims.end(), x.shape->begin() + axis + 1, x.shape->end());
    result.shape = dims;
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_take(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_take(call));
  const tir::Buffer& x = lowering.arg(0);
  const tir::Buffer& indices = lowering.arg(1);
  auto axis = normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size()));
  auto count = static_cast<std::ptrdiff_t>(indices->shape.size());
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("take", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> at(i.begin() + axis, i.begin() + axis + count);
    std::vector<PrimExpr> index(i.begin(), i.begin() + axis);
    index.push_back(load_index(indices, at));
    index.insert(index.end(), i.begin() + axis + count, i.end());
    return cast(out->dtype, tir::load(x, index));
  }));
  return lowering.finish();
}

}  // namespace

std::span<const OperatorInfo> indexing_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "take",
       .doc = "Slices of x at `indices` along an axis (an embedding look-up where the axis is 0): "
              "the axis is replaced by the dimensions of the indices, which lie in "
              "[0, extent of the axis).",
       .args = {{"x", ArgumentKind::kTensor, "at least one dimension, any dtype"},
                {"indices", ArgumentKind::kTensor, "any shape, i32 or i64"}},
       .attrs = {{"axis", AttributeKind::kInt, false, int64_t{0}, "negative from the end"},
                 {"out_dtype", AttributeKind::kDType, false, {}, "default: x's dtype"}},
       .inout = {},
       .deduce = deduce_take,
       .legalize = legalize_take,
       .reference = reference::take,
       .generator = {{1, 2, 3}, {DType::kF32, DType::kF16, DType::kBF16}}},
  };
  return kOperators;
}

}  // namespace tapml::op
