// Logical and bitwise operators and shifts.
#include "op/reference/logic.h"

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

PrimExpr both(PrimExpr a, PrimExpr b) { return logical_and(truth(a), truth(b)); }
PrimExpr either(PrimExpr a, PrimExpr b) { return logical_or(truth(a), truth(b)); }
PrimExpr one_of(PrimExpr a, PrimExpr b) { return ne(truth(a), truth(b)); }
PrimExpr none(PrimExpr x) { return logical_not(truth(std::move(x))); }

// Operands of any two dtypes.
template <BinaryFunction F>
tir::PrimFuncRef legalize_logical(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_logical(call));
  tir::Buffer out = lowering.output("out", *result.shape, DType::kBool);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    return F(operand(lowering, 0, out, i), operand(lowering, 1, out, i));
  }));
  return lowering.finish();
}

// The intrinsic `name` of two operands of one dtype.
tir::PrimFuncRef by_intrinsic(const CallView& call, const char* name) {
  return broadcasting(call, call.dtype(0), [&](PrimExpr a, PrimExpr b) {
    return intrinsic(name, std::move(a), std::move(b));
  });
}
tir::PrimFuncRef legalize_and(const CallView& call) { return by_intrinsic(call, "bit_and"); }
tir::PrimFuncRef legalize_or(const CallView& call) { return by_intrinsic(call, "bit_or"); }
tir::PrimFuncRef legalize_xor(const CallView& call) { return by_intrinsic(call, "bit_xor"); }
tir::PrimFuncRef legalize_left(const CallView& call) { return by_intrinsic(call, "shift_left"); }
tir::PrimFuncRef legalize_right(const CallView& call) { return by_intrinsic(call, "shift_right"); }

PrimExpr complement(PrimExpr x) { return intrinsic("bit_not", std::move(x)); }

relax::Annotation deduce_complement(const CallView& call) {
  std::optional<DType> dtype = known_tensor(call, 0).dtype;
  if (dtype && is_float(*dtype)) {
    call.error("argument 'x' has the wrong dtype", "an integer dtype or bool", dtype_name(*dtype));
  }
  return deduce_same(call);
}

// Shift amounts near 0 and near the width.
bool generate_shift(GeneratedCall& call, RandomStream& rng) {
  generate_partner(call, rng);
  GeneratedTensor& amount = call.args[1].tensors[0];
  amount.low = -2;
  amount.high = dtype_bits(amount.dtype) + 2;
  return true;
}

OperatorInfo shift(const char* name, const char* doc, LegalizeRule legalize,
                   ReferenceRule reference) {
  OperatorInfo info =
      binary_operator(name, doc, deduce_integers, legalize, reference, integer_dtypes(), -100, 100);
  info.args[1].doc = "number of bits, of the same dtype; shapes broadcast";
  info.generator.rule = generate_shift;
  return info;
}

OperatorInfo bitwise(const char* name, const char* doc, LegalizeRule legalize,
                     ReferenceRule reference) {
  return binary_operator(name, doc, deduce_bits, legalize, reference, bit_dtypes(), -100, 100);
}

OperatorInfo logical(const char* name, const char* doc, LegalizeRule legalize,
                     ReferenceRule reference) {
  std::vector<DType> dtypes = joined({DType::kBool}, number_dtypes());
  return binary_operator(name, doc, deduce_logical, legalize, reference, std::move(dtypes), -1, 1);
}

}  // namespace

std::span<const OperatorInfo> logic_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      logical("logical_and", "True where both are not 0, of any two dtypes. NaN is not 0.",
              legalize_logical<both>, reference::logical_and),
      logical("logical_or", "True where a or b is not 0, of any two dtypes.",
              legalize_logical<either>, reference::logical_or),
      logical("logical_xor", "True where exactly one is not 0, of any two dtypes.",
              legalize_logical<one_of>, reference::logical_xor),
      unary_operator("logical_not", "True where x is 0.", deduce_predicate,
                     legalize_predicate<none>, reference::logical_not,
                     joined({DType::kBool}, number_dtypes()), -1, 1),
      bitwise("bitwise_and", "The bits that both have; integers of one dtype, or bool.",
              legalize_and, reference::bitwise_and),
      bitwise("bitwise_or", "The bits that a or b has; dtypes as bitwise_and.", legalize_or,
              reference::bitwise_or),
      bitwise("bitwise_xor", "The bits that exactly one has; dtypes as bitwise_and.", legalize_xor,
              reference::bitwise_xor),
      unary_operator("bitwise_not",
                     "The bits that x does not have; integers, or bool (its negation).",
                     deduce_complement, legalize_number<complement>, reference::bitwise_not,
                     bit_dtypes(), -100, 100),
      shift("left_shift",
            "a * 2^b without the bits beyond the dtype's width; 0 where b is negative or not below "
            "the width.",
            legalize_left, reference::left_shift),
      shift("right_shift",
            "a / 2^b rounded down; all sign (0 for unsigned dtypes) where b is negative or not "
            "below the width.",
            legalize_right, reference::right_shift),
  };
  return kOperators;
}

}  // namespace tapml::op
