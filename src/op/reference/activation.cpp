#include "op/reference/activation.h"

namespace tapml::op::reference {

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double gelu_by_erf(double x) { return x / 2 * std::erfc(-x / std::sqrt(2.0)); }
double gelu_by_tanh(double x) {
  double inner = std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  // (1 + tanh t) / 2 without cancellation.
  return x * logistic(2 * inner);
}

// Of a logistic function: an exponential and a division.
constexpr double kStrictFactor = kMathFactor + kRoundFactor, kRelaxedFactor = 2 * kMathFactor;

template <double kFactor>
double sigmoid_own(double, double y, double u) {
  return kFactor * u * y + 0x1p-125;
}
template <double kFactor>
double silu_own(double x, double y, double u) {
  return scaled(y, kFactor * u) + std::fabs(x) * 0x1p-125;
}

// The factor 1 + f nearly cancels for negative x: its error is absolute, and the product with x / 2
// magnifies it.
double gelu_own(double x, double, double u) { return kMathFactor * u * std::fabs(x); }

// What softplus adds to max(x, 0).
double softplus_rest(double x) { return std::log1p(std::exp(-std::fabs(x))); }
// Of the rest: an exponential, a sum, a quotient and an inverse hyperbolic tangent, whose result
// moves by at most 1.05 times what its argument, up to 1/3, does.
template <double kQuotient>
double softplus_own(double x, double y, double u) {
  constexpr double kRest = 1.05 * (kMathFactor + kRoundFactor + kQuotient) + kMathFactor;
  return kRest * u * softplus_rest(x) + scaled(y, kRoundFactor * u) + 0x1p-124;
}

}  // namespace

// exp(-x) may overflow to infinity or, above 2^126, its quotient may be flushed to zero.
void sigmoid(const AttrMap&, Args args, Outputs outputs) {
  const bool relaxed = outputs[0].allowed.relaxed_division;
  map_real(args, outputs,
           {logistic, relaxed ? sigmoid_own<kRelaxedFactor> : sigmoid_own<kStrictFactor>});
}

void silu(const AttrMap&, Args args, Outputs outputs) {
  const bool relaxed = outputs[0].allowed.relaxed_division;
  map_real(args, outputs,
           {[](double x) { return x * logistic(x); },
            relaxed ? silu_own<kRelaxedFactor> : silu_own<kStrictFactor>,
            [](double x, double e, double) {
              double s = logistic(x);
              // The second derivative stays below 1/2.
              return std::fabs(s * (1 + x * (1 - s))) * e + e * e / 4;
            }});
}

void gelu(const AttrMap& attrs, Args args, Outputs outputs) {
  bool by_tanh = attr_or<std::string>(attrs, "approximate", "none") == "tanh";
  // Decreases to its only turning point and increases from there.
  double turn = by_tanh ? -0.75246142 : -0.75179152;
  map_real(args, outputs, {by_tanh ? gelu_by_tanh : gelu_by_erf, gelu_own, nullptr, {turn}});
}

void softplus(const AttrMap&, Args args, Outputs outputs) {
  const bool relaxed = outputs[0].allowed.relaxed_division;
  map_real(args, outputs,
           {[](double x) { return std::max(x, 0.0) + softplus_rest(x); },
            relaxed ? softplus_own<kMathFactor> : softplus_own<kRoundFactor>});
}

void relu(const AttrMap&, Args args, Outputs outputs) {
  const RefTensor& x = *args[0].tensor;
  for (size_t i = 0; i < x.values.size(); ++i) {
    if (x.values[i] < 0) {
      // The result moves by no more than the positive part of the operand.
      put_exact(outputs[0], i, 0, std::max(x.values[i] + x.bound[i], 0.0));
    } else {
      put_moved(outputs[0], i, x, i);
    }
  }
}

}  // namespace tapml::op::reference
