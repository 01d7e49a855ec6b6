#include "op/reference/unary_math.h"

namespace tapml::op::reference {

namespace {

constexpr double kPi = 3.14159265358979323846;

// Error of sin and cos: a few ULP of 1, and the error of argument reduction.
double trigonometric_error(double x, double u) { return 4 * u + 0x1p-12 * u * std::fabs(x); }

// Neither sine nor cosine has a slope above 1 or a range above 2.
double slope_of_one(double, double e, double) { return std::min(e, 2.0); }

}  // namespace

#define TAPML_MONOTONIC(name)                                            \
  void name(const AttrMap&, Args args, Outputs outputs) {                \
    map_monotonic(args, outputs, [](double x) { return std::name(x); }); \
  }
TAPML_MONOTONIC(exp)
TAPML_MONOTONIC(expm1)
TAPML_MONOTONIC(log)
TAPML_MONOTONIC(log2)
TAPML_MONOTONIC(log10)
TAPML_MONOTONIC(asin)
TAPML_MONOTONIC(acos)
TAPML_MONOTONIC(atan)
TAPML_MONOTONIC(sinh)
TAPML_MONOTONIC(tanh)
TAPML_MONOTONIC(asinh)
TAPML_MONOTONIC(acosh)
TAPML_MONOTONIC(atanh)
TAPML_MONOTONIC(erf)
#undef TAPML_MONOTONIC

void sqrt(const AttrMap&, Args args, Outputs outputs) {
  map_real(args, outputs,
           {[](double x) { return std::sqrt(x); },
            outputs[0].allowed.relaxed_division ? four_ulp : one_ulp,
            [](double x, double e, double y) {
              return std::max(y - std::sqrt(std::max(x - e, 0.0)), std::sqrt(x + e) - y);
            }});
}

void rsqrt(const AttrMap&, Args args, Outputs outputs) {
  map_real(
      args, outputs,
      {[](double x) { return 1 / std::sqrt(x); },
       outputs[0].allowed.relaxed_division ? four_ulp : two_ulp,
       [](double x, double e, double y) { return x <= e ? kInfinity : 1 / std::sqrt(x - e) - y; }});
}

void sin(const AttrMap&, Args args, Outputs outputs) {
  map_real(args, outputs,
           {[](double x) { return std::sin(x); },
            [](double x, double, double u) {
              return std::min(trigonometric_error(x, u), scaled(x, kMathFactor * u));
            },
            slope_of_one});
}

void cos(const AttrMap&, Args args, Outputs outputs) {
  map_real(args, outputs,
           {[](double x) { return std::cos(x); },
            [](double x, double, double u) { return trigonometric_error(x, u); }, slope_of_one});
}

// The slope 1 + y^2 magnifies the error of argument reduction.
void tan(const AttrMap&, Args args, Outputs outputs) {
  map_real(args, outputs,
           {[](double x) { return std::tan(x); },
            [](double x, double y, double u) {
              double reduced = std::fabs(x) < kPi / 4 ? 0 : (1 + y * y) * trigonometric_error(x, u);
              return reduced + scaled(y, kMathFactor * u);
            },
            [](double x, double e, double y) {
              bool over_a_pole = std::floor((x + e) / kPi + 0.5) != std::floor((x - e) / kPi + 0.5);
              if (over_a_pole) return kInfinity;
              return std::max(std::fabs(std::tan(x + e) - y), std::fabs(std::tan(x - e) - y));
            }});
}

void cosh(const AttrMap&, Args args, Outputs outputs) {
  map_real(args, outputs, {[](double x) { return std::cosh(x); }, four_ulp, nullptr, {0}});
}

}  // namespace tapml::op::reference
