// Elementwise functions of one tensor.
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};

relax::Annotation deduce_float(const CallView& call) {
  expect_float(call, 0);
  return tensor_result(known_tensor(call, 0));
}

relax::Annotation deduce_number(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.dtype == DType::kBool) call.error("bool is not a number", "a float or integer dtype");
  return tensor_result(x);
}

// Computes in f32 for narrower floats and rounds once.
tir::PrimFuncRef elementwise(const CallView& call,
                             const std::function<PrimExpr(PrimExpr)>& function) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    return cast(out->dtype, function(load_wide(x, i)));
  }));
  return lowering.finish();
}

template <class Function>
tir::PrimFuncRef legalize(const CallView& call) {
  return elementwise(call, [](PrimExpr x) { return Function::apply(std::move(x)); });
}

PrimExpr intrinsic(const char* name, PrimExpr x) {
  DType dtype = x.dtype();
  return make_call(name, dtype, {std::move(x)});
}
PrimExpr negated(PrimExpr x) { return number(0, x.dtype()) - x; }

struct Negative {
  // 0 - x would give +0 for x = 0; a product with -1 keeps the sign of zero.
  static PrimExpr apply(PrimExpr x) {
    return is_float(x.dtype()) ? x * number(-1, x.dtype()) : negated(x);
  }
};
struct Exp {
  static PrimExpr apply(PrimExpr x) { return intrinsic("exp", std::move(x)); }
};
struct Sqrt {
  static PrimExpr apply(PrimExpr x) { return intrinsic("sqrt", std::move(x)); }
};
struct Rsqrt {
  static PrimExpr apply(PrimExpr x) { return intrinsic("rsqrt", std::move(x)); }
};
struct Tanh {
  static PrimExpr apply(PrimExpr x) { return intrinsic("tanh", std::move(x)); }
};
struct Sin {
  static PrimExpr apply(PrimExpr x) { return intrinsic("sin", std::move(x)); }
};
struct Cos {
  static PrimExpr apply(PrimExpr x) { return intrinsic("cos", std::move(x)); }
};
// Where exp(-x) overflows, the quotient is 0: the right limit, so no branch is needed.
struct Sigmoid {
  static PrimExpr apply(PrimExpr x) {
    PrimExpr one = number(1, x.dtype());
    return fdiv(one, one + intrinsic("exp", negated(x)));
  }
};
struct Silu {
  static PrimExpr apply(PrimExpr x) {
    return fdiv(x, number(1, x.dtype()) + intrinsic("exp", negated(x)));
  }
};

tir::PrimFuncRef legalize_cast(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  DType dtype = *find_attr<DType>(call.attrs, "dtype");
  tir::Buffer out = lowering.output("out", x->shape, dtype);
  lowering.add(tir::compute("cast", out, [&](const std::vector<Var>& i) {
    PrimExpr value = tir::load(x, i);
    if (dtype == DType::kBool) return ne(value, number(0, x->dtype));
    return cast(dtype, value);
  }));
  return lowering.finish();
}

relax::Annotation deduce_cast(const CallView& call) {
  Known result = known_tensor(call, 0);
  result.dtype = *find_attr<DType>(call.attrs, "dtype");
  return tensor_result(result);
}

OperatorInfo unary(const char* name, const char* doc, LegalizeRule legalize,
                   ReferenceRule reference, double low = -4, double high = 4) {
  return {.name = name,
          .doc = doc,
          .args = {{"x", ArgumentKind::kTensor, "any shape, float"}},
          .attrs = {},
          .inout = {},
          .deduce = deduce_float,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3}, {std::begin(kFloats), std::end(kFloats)}, low, high}};
}

}  // namespace

std::span<const OperatorInfo> unary_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    std::vector<OperatorInfo> list = {
        unary("negative", "-x; floats and integers.", legalize<Negative>, reference::negative),
        unary("exp", "e to the power x; overflows to infinity.", legalize<Exp>, reference::exp),
        unary("sqrt", "Square root; NaN below zero.", legalize<Sqrt>, reference::sqrt, 0, 4),
        unary("rsqrt", "1 / sqrt(x).", legalize<Rsqrt>, reference::rsqrt, 0.01, 4),
        unary("sigmoid", "1 / (1 + exp(-x)).", legalize<Sigmoid>, reference::sigmoid),
        unary("silu", "x * sigmoid(x), the activation of Llama's gated feed-forward layer.",
              legalize<Silu>, reference::silu),
        unary("tanh", "Hyperbolic tangent.", legalize<Tanh>, reference::tanh),
        unary("sin", "Sine of x radians.", legalize<Sin>, reference::sin),
        unary("cos", "Cosine of x radians.", legalize<Cos>, reference::cos),
        unary("cast",
              "x as another dtype: round to nearest even between floats, toward zero from float to "
              "integer (values outside the integer's range are unspecified), x != 0 for bool.",
              legalize_cast, reference::cast),
    };
    list.front().deduce = deduce_number;
    list.front().generator.dtypes.push_back(DType::kI32);
    OperatorInfo& cast = list.back();
    cast.args[0].doc = "any shape and dtype";
    cast.attrs = {{"dtype", AttributeKind::kDType, true, {}, "dtype of the result"}};
    cast.deduce = deduce_cast;
    cast.generator.dtypes.insert(cast.generator.dtypes.end(),
                                 {DType::kI32, DType::kI64, DType::kBool});
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
