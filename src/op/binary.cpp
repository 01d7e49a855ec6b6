// Elementwise functions of several tensors, with NumPy broadcasting over symbolic shapes.
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

Known broadcast_known(const CallView& call, const Known& a, const Known& b) {
  Known result;
  if (a.ndim != relax::kUnknownNdim && b.ndim != relax::kUnknownNdim) {
    result.ndim = std::max(a.ndim, b.ndim);
  }
  if (a.shape && b.shape) result.shape = broadcast(call, *a.shape, *b.shape);
  return result;
}

relax::Annotation deduce_arithmetic(const CallView& call) {
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  for (const Known& side : {a, b}) {
    if (side.dtype == DType::kBool) {
      call.error("bool is not a number", "a float or integer dtype");
    }
  }
  Known result = broadcast_known(call, a, b);
  if (a.dtype && b.dtype) result.dtype = promoted(call, *a.dtype, *b.dtype);
  return tensor_result(result);
}

relax::Annotation deduce_float_arithmetic(const CallView& call) {
  expect_float(call, 0);
  expect_float(call, 1);
  return deduce_arithmetic(call);
}

relax::Annotation deduce_comparison(const CallView& call) {
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  if (a.dtype && b.dtype) promoted(call, *a.dtype, *b.dtype);
  Known result = broadcast_known(call, a, b);
  result.dtype = DType::kBool;
  return tensor_result(result);
}

relax::Annotation deduce_where(const CallView& call) {
  expect_dtype(call, 0, DType::kBool);
  Known condition = known_tensor(call, 0), a = known_tensor(call, 1), b = known_tensor(call, 2);
  Known result = broadcast_known(call, condition, broadcast_known(call, a, b));
  if (a.dtype && b.dtype) {
    if (*a.dtype != *b.dtype) {
      call.error("operands have different dtypes", "equal dtypes",
                 std::string(dtype_name(*a.dtype)) + " and " + dtype_name(*b.dtype));
    }
    result.dtype = a.dtype;
  }
  return tensor_result(result);
}

// Element of operand `index` for output index i.
PrimExpr operand(const Lowering& lowering, size_t index, const tir::Buffer& out,
                 const std::vector<Var>& i) {
  const tir::Buffer& buffer = lowering.arg(index);
  return tir::load(buffer, broadcast_index(buffer->shape, out->shape, i));
}

tir::PrimFuncRef elementwise(const CallView& call,
                             const std::function<PrimExpr(PrimExpr, PrimExpr)>& function) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, call.info.deduce(call));
  DType compute = accumulation_dtype(promoted(call, call.dtype(0), call.dtype(1)));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    PrimExpr a = cast(compute, operand(lowering, 0, out, i));
    PrimExpr b = cast(compute, operand(lowering, 1, out, i));
    return cast(out->dtype, function(std::move(a), std::move(b)));
  }));
  return lowering.finish();
}

template <auto Function>
tir::PrimFuncRef legalize(const CallView& call) {
  return elementwise(call,
                     [](PrimExpr a, PrimExpr b) { return Function(std::move(a), std::move(b)); });
}

PrimExpr plus(PrimExpr a, PrimExpr b) { return a + b; }
PrimExpr minus(PrimExpr a, PrimExpr b) { return a - b; }
PrimExpr times(PrimExpr a, PrimExpr b) { return a * b; }
PrimExpr quotient(PrimExpr a, PrimExpr b) { return fdiv(a, b); }
PrimExpr larger(PrimExpr a, PrimExpr b) { return max(a, b); }
PrimExpr smaller(PrimExpr a, PrimExpr b) { return min(a, b); }
PrimExpr is_greater(PrimExpr a, PrimExpr b) { return lt(b, a); }
PrimExpr is_less(PrimExpr a, PrimExpr b) { return lt(a, b); }
PrimExpr is_equal(PrimExpr a, PrimExpr b) { return eq(a, b); }

tir::PrimFuncRef legalize_where(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_where(call));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("where", out, [&](const std::vector<Var>& i) {
    return select(operand(lowering, 0, out, i), operand(lowering, 1, out, i),
                  operand(lowering, 2, out, i));
  }));
  return lowering.finish();
}

OperatorInfo binary(const char* name, const char* doc, LegalizeRule legalize,
                    ReferenceRule reference, DeduceRule deduce = deduce_arithmetic) {
  return {.name = name,
          .doc = doc,
          .args = {{"a", ArgumentKind::kTensor, "left operand"},
                   {"b", ArgumentKind::kTensor, "right operand; shapes broadcast"}},
          .attrs = {},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3}, {DType::kF32, DType::kF16, DType::kBF16, DType::kI32}}};
}

OperatorInfo where_operator() {
  return {.name = "where",
          .doc = "a where the condition holds, else b; shapes broadcast.",
          .args = {{"condition", ArgumentKind::kTensor, "bool"},
                   {"a", ArgumentKind::kTensor, "any dtype"},
                   {"b", ArgumentKind::kTensor, "the same dtype"}},
          .attrs = {},
          .inout = {},
          .deduce = deduce_where,
          .legalize = legalize_where,
          .reference = reference::where,
          .generator = {{0, 1, 2, 3}, {DType::kBool}}};
}

}  // namespace

std::span<const OperatorInfo> binary_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    std::vector<OperatorInfo> list = {
        binary("add", "a + b. Two float dtypes that differ are computed and returned in f32.",
               legalize<plus>, reference::add),
        binary("subtract", "a - b; dtypes as add.", legalize<minus>, reference::subtract),
        binary("multiply", "a * b; dtypes as add.", legalize<times>, reference::multiply),
        binary("divide", "a / b, floats only; dtypes as add.", legalize<quotient>,
               reference::divide, deduce_float_arithmetic),
        binary("maximum", "The larger of a and b; unspecified where one is NaN.", legalize<larger>,
               reference::maximum),
        binary("minimum", "The smaller of a and b; unspecified where one is NaN.",
               legalize<smaller>, reference::minimum),
        binary("greater", "a > b as bool.", legalize<is_greater>, reference::greater,
               deduce_comparison),
        binary("less", "a < b as bool.", legalize<is_less>, reference::less, deduce_comparison),
        binary("equal", "a == b as bool.", legalize<is_equal>, reference::equal, deduce_comparison),
        where_operator(),
    };
    list[3].generator.dtypes.pop_back();
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
