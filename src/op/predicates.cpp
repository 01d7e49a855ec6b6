// Predicates on single elements: classification of numbers, comparisons, selection.
#include "op/reference/predicates.h"

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

PrimExpr is_nan(PrimExpr x) {
  return is_float(x.dtype()) ? make_call("isnan", DType::kBool, {x}) : make_bool(false);
}
PrimExpr is_inf(PrimExpr x) {
  return is_float(x.dtype()) ? make_call("isinf", DType::kBool, {x}) : make_bool(false);
}
PrimExpr is_finite(PrimExpr x) {
  return is_float(x.dtype()) ? make_call("isfinite", DType::kBool, {x}) : make_bool(true);
}

PrimExpr equal(PrimExpr a, PrimExpr b) { return eq(std::move(a), std::move(b)); }
PrimExpr not_equal(PrimExpr a, PrimExpr b) { return ne(std::move(a), std::move(b)); }
PrimExpr less(PrimExpr a, PrimExpr b) { return lt(std::move(a), std::move(b)); }
PrimExpr less_equal(PrimExpr a, PrimExpr b) { return le(std::move(a), std::move(b)); }
PrimExpr greater(PrimExpr a, PrimExpr b) { return lt(std::move(b), std::move(a)); }
PrimExpr greater_equal(PrimExpr a, PrimExpr b) { return le(std::move(b), std::move(a)); }

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

bool generate_where(GeneratedCall& call, RandomStream& rng) {
  const Shape shape = call.args[0].tensors[0].shape;
  DType dtype = pick(all_dtypes(), rng);
  for (int i = 0; i < 2; ++i) {
    call.args.push_back({{{dtype, broadcast_partner(shape, rng), -9, 9}}, {}});
  }
  return true;
}

OperatorInfo test(const char* name, const char* doc, LegalizeRule legalize,
                  ReferenceRule reference) {
  return unary_operator(name, doc, deduce_predicate, legalize, reference, all_dtypes());
}

OperatorInfo comparison(const char* name, const char* doc, LegalizeRule legalize,
                        ReferenceRule reference) {
  return binary_operator(name, doc, deduce_comparison, legalize, reference, all_dtypes());
}

}  // namespace

std::span<const OperatorInfo> predicate_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      test("isnan", "True for a NaN; never for integers.", legalize_predicate<is_nan>,
           reference::isnan),
      test("isinf", "True for an infinity of either sign; never for integers.",
           legalize_predicate<is_inf>, reference::isinf),
      test("isfinite", "True for neither NaN nor infinity; always for integers.",
           legalize_predicate<is_finite>, reference::isfinite),
      comparison("equal", "a == b as bool; false where one is NaN.", legalize_binary<equal>,
                 reference::equal),
      comparison("not_equal", "a != b as bool; true where one is NaN.", legalize_binary<not_equal>,
                 reference::not_equal),
      comparison("less", "a < b as bool; false where one is NaN.", legalize_binary<less>,
                 reference::less),
      comparison("less_equal", "a <= b as bool; false where one is NaN.",
                 legalize_binary<less_equal>, reference::less_equal),
      comparison("greater", "a > b as bool; false where one is NaN.", legalize_binary<greater>,
                 reference::greater),
      comparison("greater_equal", "a >= b as bool; false where one is NaN.",
                 legalize_binary<greater_equal>, reference::greater_equal),
      {.name = "where",
       .doc = "a where the condition holds, else b; shapes broadcast.",
       .args = {{"condition", ArgumentKind::kTensor, "bool"},
                {"a", ArgumentKind::kTensor, "any dtype"},
                {"b", ArgumentKind::kTensor, "the same dtype"}},
       .attrs = {},
       .inout = {},
       .deduce = deduce_where,
       .legalize = legalize_where,
       .reference = reference::where,
       .generator = {{0, 1, 2, 3, 4}, {DType::kBool}, 0, 1, generate_where}},
  };
  return kOperators;
}

}  // namespace tapml::op
