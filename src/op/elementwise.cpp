#include "op/elementwise.h"

namespace tapml::op {

PrimExpr intrinsic(const char* name, PrimExpr x) {
  DType dtype = x.dtype();
  return make_call(name, dtype, {std::move(x)});
}

PrimExpr intrinsic(const char* name, PrimExpr a, PrimExpr b) {
  DType dtype = a.dtype();
  return make_call(name, dtype, {std::move(a), std::move(b)});
}

PrimExpr truth(PrimExpr x) {
  if (x.dtype() == DType::kBool) return x;
  PrimExpr zero = number(0, x.dtype());
  return ne(std::move(x), zero);
}

PrimExpr bind(const char* name, PrimExpr x, const std::function<PrimExpr(PrimExpr)>& body) {
  Var var = make_var(name, x.dtype());
  return let(var, std::move(x), body(var));
}

relax::Annotation deduce_same(const CallView& call) { return tensor_result(known_tensor(call, 0)); }

relax::Annotation deduce_number(const CallView& call) {
  expect_number(call, 0);
  return deduce_same(call);
}

relax::Annotation deduce_real(const CallView& call) {
  Known result = known_tensor(call, 0);
  if (result.dtype) result.dtype = real_dtype(*result.dtype);
  return tensor_result(result);
}

relax::Annotation deduce_predicate(const CallView& call) {
  Known result = known_tensor(call, 0);
  result.dtype = DType::kBool;
  return tensor_result(result);
}

tir::PrimFuncRef elementwise(const CallView& call, DType result, bool exact,
                             const std::function<PrimExpr(PrimExpr)>& function) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, result);
  DType compute = exact ? x->dtype : accumulation_dtype(result);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    return cast(result, function(cast(compute, tir::load(x, i))));
  }));
  return lowering.finish();
}

Known broadcast_known(const CallView& call, const Known& a, const Known& b) {
  Known result;
  if (a.ndim != relax::kUnknownNdim && b.ndim != relax::kUnknownNdim) {
    result.ndim = std::max(a.ndim, b.ndim);
  }
  if (a.shape && b.shape) result.shape = broadcast(call, *a.shape, *b.shape);
  return result;
}

PrimExpr operand(const Lowering& lowering, size_t index, const tir::Buffer& out,
                 const std::vector<Var>& i) {
  const tir::Buffer& buffer = lowering.arg(index);
  return tir::load(buffer, broadcast_index(buffer->shape, out->shape, i));
}

namespace {

// The broadcast shape and the promoted dtype.
Known promoted_known(const CallView& call) {
  Known a = known_tensor(call, 0), b = known_tensor(call, 1);
  Known result = broadcast_known(call, a, b);
  if (a.dtype && b.dtype) result.dtype = promoted(call, *a.dtype, *b.dtype);
  return result;
}

relax::Annotation deduce_discrete(const CallView& call, bool with_bool) {
  for (size_t i : {0, 1}) {
    std::optional<DType> dtype = known_tensor(call, i).dtype;
    if (!dtype || is_integer(*dtype) || (with_bool && *dtype == DType::kBool)) continue;
    call.error("argument '" + std::string(call.info.args[i].name) + "' has the wrong dtype",
               with_bool ? "an integer dtype or bool" : "an integer dtype", dtype_name(*dtype));
  }
  return tensor_result(promoted_known(call));
}

}  // namespace

relax::Annotation deduce_arithmetic(const CallView& call) {
  expect_number(call, 0);
  expect_number(call, 1);
  return tensor_result(promoted_known(call));
}

relax::Annotation deduce_quotient(const CallView& call) {
  expect_number(call, 0);
  expect_number(call, 1);
  Known result = promoted_known(call);
  if (result.dtype) result.dtype = real_dtype(*result.dtype);
  return tensor_result(result);
}

relax::Annotation deduce_integers(const CallView& call) { return deduce_discrete(call, false); }
relax::Annotation deduce_bits(const CallView& call) { return deduce_discrete(call, true); }

relax::Annotation deduce_comparison(const CallView& call) {
  Known result = promoted_known(call);
  result.dtype = DType::kBool;
  return tensor_result(result);
}

relax::Annotation deduce_logical(const CallView& call) {
  Known result = broadcast_known(call, known_tensor(call, 0), known_tensor(call, 1));
  result.dtype = DType::kBool;
  return tensor_result(result);
}

DType common_dtype(const CallView& call) {
  return accumulation_dtype(promoted(call, call.dtype(0), call.dtype(1)));
}

tir::PrimFuncRef broadcasting(const CallView& call, DType compute,
                              const std::function<PrimExpr(PrimExpr, PrimExpr)>& function) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, call.info.deduce(call));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    PrimExpr a = cast(compute, operand(lowering, 0, out, i));
    PrimExpr b = cast(compute, operand(lowering, 1, out, i));
    return cast(out->dtype, function(std::move(a), std::move(b)));
  }));
  return lowering.finish();
}

OperatorInfo unary_operator(const char* name, const char* doc, DeduceRule deduce,
                            LegalizeRule legalize, ReferenceRule reference,
                            std::vector<DType> dtypes, double low, double high) {
  const char* accepts = deduce == deduce_number ? "any shape, a number" : "any shape and dtype";
  return {.name = name,
          .doc = doc,
          .args = {{"x", ArgumentKind::kTensor, accepts}},
          .attrs = {},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3, 4}, std::move(dtypes), low, high}};
}

bool generate_partner(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor partner = call.args[0].tensors[0];
  // The roles may be swapped, so a may be the smaller operand.
  Shape small = broadcast_partner(partner.shape, rng);
  if (rng.chance(0.3)) {
    call.args[0].tensors[0].shape = small;
  } else {
    partner.shape = small;
  }
  call.args.push_back({{partner}, {}});
  return true;
}

OperatorInfo binary_operator(const char* name, const char* doc, DeduceRule deduce,
                             LegalizeRule legalize, ReferenceRule reference,
                             std::vector<DType> dtypes, double low, double high) {
  return {.name = name,
          .doc = doc,
          .args = {{"a", ArgumentKind::kTensor, "left operand"},
                   {"b", ArgumentKind::kTensor, "right operand; shapes broadcast"}},
          .attrs = {},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3, 4}, std::move(dtypes), low, high, generate_partner}};
}

}  // namespace tapml::op
