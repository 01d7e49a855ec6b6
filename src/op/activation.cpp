// Activation functions of neural networks.
#include "op/reference/activation.h"

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

PrimExpr one_plus_exp_of_minus(const PrimExpr& x) {
  return number(1, x.dtype()) + intrinsic("exp", number(0, x.dtype()) - x);
}

// If exp(-x) overflows, the quotient is 0, the correct limit, so no branch is needed.
PrimExpr sigmoid(PrimExpr x) { return fdiv(number(1, x.dtype()), one_plus_exp_of_minus(x)); }
PrimExpr silu(PrimExpr x) {
  return bind("x", std::move(x), [](PrimExpr v) { return fdiv(v, one_plus_exp_of_minus(v)); });
}

PrimExpr relu(PrimExpr x) {
  DType dtype = x.dtype();
  return max(std::move(x), number(0, dtype));
}

// log(1 + e) = 2 atanh(e / (2 + e)) has no cancellation where e = exp(-|x|) is small.
PrimExpr softplus(PrimExpr x) {
  return bind("x", std::move(x), [](PrimExpr v) {
    const DType dtype = v.dtype();
    const PrimExpr e = intrinsic("exp", number(0, dtype) - intrinsic("abs", v));
    return bind("e", e, [&](PrimExpr u) {
      const PrimExpr half = intrinsic("atanh", fdiv(u, number(2, dtype) + u));
      return max(v, number(0, dtype)) + number(2, dtype) * half;
    });
  });
}

// x/2 * (1 + f), f = erf(x / sqrt 2) or tanh(sqrt(2/pi) * (x + 0.044715 x^3)).
tir::PrimFuncRef legalize_gelu(const CallView& call) {
  bool by_tanh = *find_attr<std::string>(call.attrs, "approximate") == "tanh";
  return elementwise(call, real_dtype(call.dtype(0)), false, [&](PrimExpr x) {
    DType dtype = x.dtype();
    auto constant = [&](double value) { return number(value, dtype); };
    return bind("x", std::move(x), [&](PrimExpr v) {
      PrimExpr f;
      if (by_tanh) {
        PrimExpr inner = v * (constant(1) + constant(0.044715) * (v * v));
        f = intrinsic("tanh", constant(0.7978845608028654) * inner);
      } else {
        f = intrinsic("erf", v * constant(0.7071067811865476));
      }
      return (constant(0.5) * v) * (constant(1) + f);
    });
  });
}

relax::Annotation deduce_gelu(const CallView& call) {
  const std::string& form = *find_attr<std::string>(call.attrs, "approximate");
  if (form != "none" && form != "tanh") {
    call.error("no such approximation", "\"none\" or \"tanh\"", '"' + form + '"');
  }
  return deduce_real(call);
}

bool generate_gelu(GeneratedCall& call, RandomStream& rng) {
  if (rng.chance(0.5)) call.attrs["approximate"] = std::string("tanh");
  return true;
}

}  // namespace

std::span<const OperatorInfo> activation_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    std::vector<OperatorInfo> list = {
        unary_operator("sigmoid", "1 / (1 + exp(-x)).", deduce_real, legalize_real<sigmoid>,
                       reference::sigmoid, all_dtypes()),
        unary_operator("silu",
                       "x * sigmoid(x), the activation of Llama's gated feed-forward layer.",
                       deduce_real, legalize_real<silu>, reference::silu, all_dtypes()),
        unary_operator(
            "gelu",
            "x * Phi(x) with the normal distribution's Phi(x) = (1 + erf(x / sqrt 2)) / "
            "2, or with the tanh of sqrt(2/pi) * (x + 0.044715 x^3) in place of the erf.",
            deduce_gelu, legalize_gelu, reference::gelu, all_dtypes()),
        unary_operator("relu", "max(x, 0); NaN stays.", deduce_number, legalize_number<relu>,
                       reference::relu, number_dtypes()),
        unary_operator("softplus", "log(1 + exp(x)), which is above max(x, 0).", deduce_real,
                       legalize_real<softplus>, reference::softplus, all_dtypes()),
    };
    OperatorInfo& gelu = list[2];
    gelu.attrs = {{"approximate", AttributeKind::kString, false, std::string("none"),
                   "\"none\" (by erf) or \"tanh\""}};
    gelu.generator.rule = generate_gelu;
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
