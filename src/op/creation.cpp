// Operators that make tensors from constants, sizes and positions.
#include "op/reference/creation.h"

#include "op/elementwise.h"
#include "op/families.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

DType dtype_attribute(const CallView& call) { return *find_attr<DType>(call.attrs, "dtype"); }

relax::Annotation deduce_full(const CallView& call) {
  Known result{known_dims(call, 0), relax::kUnknownNdim, dtype_attribute(call)};
  if (const auto* shape = relax::as_shape(call.annotations[0])) result.ndim = shape->ndim;
  return tensor_result(result);
}

tir::PrimFuncRef legalize_full(const CallView& call) {
  Lowering lowering(call);
  DType dtype = dtype_attribute(call);
  tir::Buffer out = lowering.output("out", call.shape_argument(0), dtype);
  lowering.add(tir::compute(
      "full", out, [&](const std::vector<Var>&) { return number(call.number("value"), dtype); }));
  return lowering.finish();
}

bool generate_full(GeneratedCall& call, RandomStream& rng) {
  DType dtype = pick(all_dtypes(), rng);
  auto value = static_cast<double>(rng.between(0, 100));
  if (is_float(dtype) && rng.chance(0.5)) value /= -8;
  if (dtype == DType::kBool) value = rng.chance(0.5) ? 1 : 0;
  GeneratedArg shape;
  for (uint32_t d = rng.below(4); d > 0; --d) shape.ints.push_back(rng.between(0, 9));
  call.args = {shape};
  call.attrs = {{"value", value}, {"dtype", dtype}};
  return true;
}

// The single integer of a host-integer argument, if known.
std::optional<PrimExpr> known_integer(const CallView& call, size_t index) {
  std::optional<Dims> dims = known_dims(call, index);
  if (!dims || dims->size() != 1) return std::nullopt;
  return dims->front();
}

// Rounds up; 0 if the stop is already passed.
PrimExpr range_length(const PrimExpr& start, const PrimExpr& stop, int64_t step) {
  PrimExpr distance = step > 0 ? stop - start : start - stop;
  int64_t size = step > 0 ? step : -step;
  PrimExpr length = simplified(ceil_div(distance, size));
  return provably_less(PrimExpr(-1), length) ? length : simplified(max(length, PrimExpr(0)));
}

relax::Annotation deduce_arange(const CallView& call) {
  if (call.integer("step") == 0) call.error("the step is 0", "another integer", "0");
  DType dtype = dtype_attribute(call);
  if (dtype == DType::kBool) call.error("bool is not a number", "a float or integer dtype", "bool");
  Known result{std::nullopt, 1, dtype};
  std::optional<PrimExpr> start = known_integer(call, 0), stop = known_integer(call, 1);
  if (start && stop) result.shape = {range_length(*start, *stop, call.integer("step"))};
  return tensor_result(result);
}

tir::PrimFuncRef legalize_arange(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_arange(call));
  PrimExpr start = call.shape_argument(0).front();
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("arange", out, [&](const std::vector<Var>& i) {
    return cast(out->dtype, start + i[0] * call.integer("step"));
  }));
  return lowering.finish();
}

bool generate_arange(GeneratedCall& call, RandomStream& rng) {
  int64_t step = rng.between(1, 3) * (rng.chance(0.3) ? -1 : 1);
  call.args = {{{}, {rng.between(0, 20)}}, {{}, {rng.between(0, 40)}}};
  call.attrs = {{"step", step}, {"dtype", pick(number_dtypes(), rng)}};
  return true;
}

relax::Annotation deduce_eye(const CallView& call) {
  Known result{std::nullopt, 2, dtype_attribute(call)};
  std::optional<PrimExpr> rows = known_integer(call, 0), columns = known_integer(call, 1);
  if (rows && columns) result.shape = {*rows, *columns};
  return tensor_result(result);
}

tir::PrimFuncRef legalize_eye(const CallView& call) {
  Lowering lowering(call);
  DType dtype = dtype_attribute(call);
  Dims shape = {call.shape_argument(0).front(), call.shape_argument(1).front()};
  tir::Buffer out = lowering.output("out", shape, dtype);
  lowering.add(tir::compute("eye", out, [&](const std::vector<Var>& i) {
    return select(eq(i[1], i[0] + call.integer("k")), number(1, dtype), number(0, dtype));
  }));
  return lowering.finish();
}

bool generate_eye(GeneratedCall& call, RandomStream& rng) {
  call.args = {{{}, {rng.between(0, 9)}}, {{}, {rng.between(0, 17)}}};
  call.attrs = {{"k", rng.between(-3, 3)}, {"dtype", pick(all_dtypes(), rng)}};
  return true;
}

relax::Annotation deduce_triangle(const CallView& call) {
  expect_min_ndim(call, 0, 2);
  return deduce_same(call);
}

// Keeps the elements for which holds(row + k, column); the others are 0.
tir::PrimFuncRef triangle(const CallView& call, PrimExpr (*holds)(PrimExpr, PrimExpr)) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    PrimExpr diagonal = i[i.size() - 2] + call.integer("k");
    return select(holds(diagonal, i.back()), tir::load(x, i), number(0, x->dtype));
  }));
  return lowering.finish();
}

tir::PrimFuncRef legalize_tril(const CallView& call) {
  return triangle(call, [](PrimExpr diagonal, PrimExpr column) {
    return le(std::move(column), std::move(diagonal));
  });
}
tir::PrimFuncRef legalize_triu(const CallView& call) {
  return triangle(call, [](PrimExpr diagonal, PrimExpr column) {
    return le(std::move(diagonal), std::move(column));
  });
}

bool generate_triangle(GeneratedCall& call, RandomStream& rng) {
  call.attrs["k"] = rng.between(-3, 3);
  return true;
}

relax::Annotation deduce_like(const CallView& call) {
  Known result = known_tensor(call, 0);
  if (const auto* dtype = find_attr<DType>(call.attrs, "dtype")) result.dtype = *dtype;
  return tensor_result(result);
}

tir::PrimFuncRef constant_like(const CallView& call, double value) {
  Lowering lowering(call);
  const auto* dtype = find_attr<DType>(call.attrs, "dtype");
  tir::Buffer out = lowering.output("out", lowering.arg(0)->shape, dtype ? *dtype : call.dtype(0));
  lowering.add(tir::compute(call.info.name, out,
                            [&](const std::vector<Var>&) { return number(value, out->dtype); }));
  return lowering.finish();
}
tir::PrimFuncRef legalize_zeros(const CallView& call) { return constant_like(call, 0); }
tir::PrimFuncRef legalize_ones(const CallView& call) { return constant_like(call, 1); }

bool generate_like(GeneratedCall& call, RandomStream& rng) {
  if (rng.chance(0.3)) call.attrs["dtype"] = pick(all_dtypes(), rng);
  return true;
}

tir::PrimFuncRef legalize_copy(const CallView& call) {
  return elementwise(call, call.dtype(0), true, [](PrimExpr x) { return x; });
}

relax::Annotation deduce_shape_of(const CallView& call) {
  Known x = known_tensor(call, 0);
  return x.shape ? relax::shape_annotation(*x.shape) : relax::shape_annotation_ndim(x.ndim);
}

// Dimensions are expressions, so nothing is left to compute.
relax::Expr decompose_shape_of(const CallView& call, BindingSink&) {
  std::optional<Dims> shape = known_tensor(call, 0).shape;
  if (!shape) {
    call.error("argument 'x' has no known shape",
               "a tensor of known shape; a match_cast before the call gives it one",
               to_string(call.annotations[0]));
  }
  return relax::make_shape(*shape);
}

OperatorInfo shape_of_operator() {
  OperatorInfo info =
      unary_operator("shape_of", "The dimensions of x as a shape value, known without running.",
                     deduce_shape_of, nullptr, reference::shape_of, all_dtypes());
  info.decompose = decompose_shape_of;
  return info;
}

OperatorInfo from_integers(const char* name, const char* doc, std::vector<ArgumentSpec> args,
                           std::vector<AttributeSpec> attrs, DeduceRule deduce,
                           LegalizeRule legalize, ReferenceRule reference, GenerateRule rule) {
  return {.name = name,
          .doc = doc,
          .args = std::move(args),
          .attrs = std::move(attrs),
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{}, number_dtypes(), -2, 2, rule}};
}

OperatorInfo from_tensor(const char* name, const char* doc, DeduceRule deduce,
                         LegalizeRule legalize, ReferenceRule reference,
                         std::vector<AttributeSpec> attrs, GenerateRule rule) {
  OperatorInfo info = unary_operator(name, doc, deduce, legalize, reference, all_dtypes());
  info.attrs = std::move(attrs);
  info.generator.rule = rule;
  if (deduce == deduce_triangle) {
    info.args[0].doc = "[..., m, n], any dtype";
    info.generator.ranks = {2, 3, 4};
  }
  return info;
}

}  // namespace

std::span<const OperatorInfo> creation_operators() {
  constexpr auto kShape = ArgumentKind::kShape, kPrim = ArgumentKind::kPrim;
  static const std::vector<OperatorInfo> kOperators = [] {
    const AttributeSpec dtype = {"dtype", AttributeKind::kDType, true, {}, "of the result"};
    const AttributeSpec own = {"dtype", AttributeKind::kDType, false, {}, "default: x's dtype"};
    const AttributeSpec diagonal = {"k", AttributeKind::kInt, false, int64_t{0},
                                    "diagonal: 0 is the main one, positive ones are above it"};
    return std::vector<OperatorInfo>{
        from_integers("full", "A tensor whose elements all have one value.",
                      {{"shape", kShape, "the result's shape"}},
                      {{"value", AttributeKind::kFloat, true, {}, "rounded to the dtype"}, dtype},
                      deduce_full, legalize_full, reference::full, generate_full),
        from_integers(
            "arange",
            "start, start + step, ... before stop, cast to the dtype; empty if stop is not ahead.",
            {{"start", kPrim, "the first element"}, {"stop", kPrim, "the end, not included"}},
            {{"step", AttributeKind::kInt, false, int64_t{1}, "not 0"},
             {"dtype", AttributeKind::kDType, false, DType::kI64, "of the result"}},
            deduce_arange, legalize_arange, reference::arange, generate_arange),
        from_integers("eye", "1 on a diagonal of a matrix, 0 elsewhere.",
                      {{"rows", kPrim, "number of rows"}, {"columns", kPrim, "number of columns"}},
                      {diagonal, dtype}, deduce_eye, legalize_eye, reference::eye, generate_eye),
        from_tensor("tril", "x with 0 above a diagonal of each matrix.", deduce_triangle,
                    legalize_tril, reference::tril, {diagonal}, generate_triangle),
        from_tensor("triu", "x with 0 below a diagonal of each matrix.", deduce_triangle,
                    legalize_triu, reference::triu, {diagonal}, generate_triangle),
        from_tensor("zeros_like", "0 in x's shape.", deduce_like, legalize_zeros,
                    reference::zeros_like, {own}, generate_like),
        from_tensor("ones_like", "1 in x's shape.", deduce_like, legalize_ones,
                    reference::ones_like, {own}, generate_like),
        from_tensor("copy", "A copy of x in new storage.", deduce_same, legalize_copy,
                    reference::copy, {}, nullptr),
        shape_of_operator(),
    };
  }();
  return kOperators;
}

}  // namespace tapml::op
