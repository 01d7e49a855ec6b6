// Deviations and systematic parts of tensor programs, against values computed by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "interp/interpreter.h"
#include "text/parser.h"
#include "tir/prim_func.h"

namespace tapml::interp {
namespace {

using op::RefTensor;

constexpr double kUnit = 0x1p-24;
// Variance of one rounding of x to f32, at most.
double rounding(double x) { return kUnit * kUnit * x * x / 3; }

RefTensor input(const std::vector<double>& values, double systematic = 0, double deviation = 0) {
  RefTensor x = RefTensor::zeros(DType::kF32, {static_cast<int64_t>(values.size())});
  x.systematic.assign(values.size(), 0);
  x.deviation.assign(values.size(), 0);
  for (size_t i = 0; i < values.size(); ++i) {
    x.values[i] = values[i];
    x.systematic.set(i, systematic);
    x.deviation.set(i, deviation);
    x.bound.set(i, systematic + op::kTails * deviation);
  }
  return x;
}

// The last of the program's parameters, which is an output of one element.
RefTensor evaluated(const std::string& text, std::vector<RefTensor> params, DType dtype,
                    const Allowances& allowed = {}) {
  const Module module = text::parse("module\nprim def f" + text, "test");
  params.push_back(RefTensor::zeros(dtype, {1}));
  evaluate_with_bounds(*tir::as_prim_func(module.find("f")), params, {}, {}, allowed);
  return params.back();
}

// y[0] of an expression of x[0], x[1] and x[2].
RefTensor of(const std::string& expression, const RefTensor& x, const Allowances& allowed = {},
             DType dtype = DType::kF32) {
  return evaluated("(x: Buffer((3,), f32), out y: Buffer((1,), " + std::string(dtype_name(dtype)) +
                       ")) {\n  y[0] = " + expression + "\n}",
                   {x}, dtype, allowed);
}

void expect_parts(const RefTensor& y, double systematic, double variance, const char* what) {
  EXPECT_NEAR(y.systematic_at(0), systematic, 1e-5 * systematic) << what;
  EXPECT_NEAR(y.deviation[0], std::sqrt(variance), 1e-5 * std::sqrt(variance)) << what;
  EXPECT_GE(y.bound[0], y.systematic_at(0)) << what;
}

constexpr double kA = 1.3, kB = -2.7, kC = 0.6, kS = 1e-5, kD = 1e-4;

TEST(ProgramDeviations, OfSumsAddTheTermsAndTheRounding) {
  const RefTensor x = input({kA, kB, kC}, kS, kD);
  expect_parts(of("x[0]", x), kS, kD * kD, "a copy");
  expect_parts(of("x[0] + f32(0.0)", x), kS, kD * kD, "a sum with 0 is exact");
  expect_parts(of("f32(1.0) + x[1]", x), kS, kD * kD + rounding(1 + kB), "a sum");
  expect_parts(of("f32(1.0) - x[1]", x), kS, kD * kD + rounding(1 - kB), "a difference");
}

TEST(ProgramDeviations, OfSumsInALoopAreThoseOfItsPartialSums) {
  std::vector<double> terms(64);
  double sum = 0, variance = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    terms[i] = 1 + 0.01 * static_cast<double>(i);
    sum += terms[i];
    variance += kD * kD * 1e-6 + (i == 0 ? 0 : rounding(sum));
  }
  const std::string loop = R"((x: Buffer((64,), f32), out y: Buffer((1,), f32)) {
  y[0] = f32(0.0)
  for i in serial(64) { y[0] = y[0] + x[i] }
})";
  expect_parts(evaluated(loop, {input(terms, kS, kD * 1e-3)}, DType::kF32), 64 * kS, variance,
               "terms that differ");
  // Equal terms have equal errors.
  double squares = 0;
  for (int i = 2; i <= 64; ++i) squares += rounding(1.1 * i);
  expect_parts(evaluated(loop, {input(std::vector<double>(64, 1.1))}, DType::kF32), 0, 64 * squares,
               "terms that are equal");
}

TEST(ProgramDeviations, OfProductsQuotientsAndFunctionsFollowTheirSlopes) {
  const RefTensor x = input({kA, kB, kC}, 0, kD);
  const RefTensor shared = input({kA, kB, kC}, kS, 0);
  const double v = kD * kD;
  expect_parts(of("x[0] * f32(2.5)", x), 0, 6.25 * v + rounding(2.5 * kA), "a product");
  expect_parts(of("x[0] * f32(2.5)", shared), 2.5 * kS, rounding(2.5 * kA), "systematic");
  const double quotient = 2.5 / kB;
  expect_parts(of("f32(2.5) / x[1]", x), 2 * kUnit * std::fabs(quotient),
               v * quotient * quotient / kB / kB, "a quotient");
  expect_parts(of("f32(2.5) / x[1]", input({kA, kB, kC}), {.relaxed_division = true}),
               8 * kUnit * std::fabs(quotient), 0, "a relaxed quotient");
  EXPECT_NEAR(of("exp(x[0])", x).deviation[0], std::exp(kA) * kD, 1e-3 * kD);
  EXPECT_NEAR(of("exp(x[0])", x).systematic_at(0), 8 * kUnit * std::exp(kA), 1e-9);
  EXPECT_NEAR(of("sqrt(x[0])", x).deviation[0], kD / 2 / std::sqrt(kA), 1e-3 * kD);
  EXPECT_NEAR(of("sqrt(x[0])", x).systematic_at(0), 2 * kUnit * std::sqrt(kA), 1e-9);
  expect_parts(of("abs(x[1])", x), 0, v, "an absolute value");
  EXPECT_EQ(of("floor(x[0])", x).bound[0], 0);
}

TEST(ProgramDeviations, OfNarrowResultsHaveTheirRounding) {
  const RefTensor y = of("cast(f16, x[0])", input({kA, kB, kC}, 0, kD), {}, DType::kF16);
  const double spacing = 0x1p-10;  // of f16 from 1 to 2
  EXPECT_NEAR(y.deviation[0], std::sqrt(kD * kD + spacing * spacing / 12), 1e-8);
  EXPECT_EQ(of("cast(f16, x[0])", input({1.5, 0, 0}), {}, DType::kF16).deviation[0], 0);
}

TEST(ProgramDeviations, OfChoicesAreThoseOfTheCertainOne) {
  const RefTensor x = input({kA, kB, kC}, kS, kD);
  expect_parts(of("max(x[0], x[1] + f32(1.0))", x), kS, kD * kD, "a maximum");
  expect_parts(of("select(x[0] < x[2], x[1], x[2])", x), kS, kD * kD, "a select");
  // Either may be the larger one, so only a bound is known.
  for (const char* open : {"max(x[0], x[1])", "select(x[0] < x[1], x[0], x[1])"}) {
    const RefTensor y = of(open, input({kA, kA + kD, kC}, kS, kD));
    EXPECT_EQ(y.deviation[0], 0) << open;
    EXPECT_EQ(y.systematic_at(0), y.bound[0]) << open;
    EXPECT_GE(y.bound[0], kS + 8 * kD) << open;
  }
}

TEST(ProgramDeviations, OfOpenAndInfiniteElementsAreZero) {
  const RefTensor unwritten = evaluated(R"((x: Buffer((3,), f32), out y: Buffer((1,), f32)) {
  alloc s: Buffer((1,), f32)
  y[0] = s[0] + x[0]
})",
                                        {input({kA, kB, kC}, kS, kD)}, DType::kF32);
  EXPECT_TRUE(std::isinf(unwritten.bound[0]));
  EXPECT_EQ(unwritten.deviation[0], 0);
  const RefTensor infinite = of("x[0] * f32(3e38)", input({1e20, 0, 0}, kS, kD));
  EXPECT_TRUE(std::isinf(infinite.values[0]));
  EXPECT_EQ(infinite.bound[0], 0);
  EXPECT_EQ(infinite.systematic_at(0), 0);
  EXPECT_EQ(infinite.deviation[0], 0);
}

// What several places share does not average out: it is systematic.
TEST(ProgramDeviations, SharedErrorsAreSystematic) {
  const RefTensor x = input({kA, kB, kC}, 0, kD);
  for (const char* twice :
       {"x[0] * x[0]", "x[0] + x[0]", "x[0] + x[0] * f32(1.0)", "let t: f32 = x[0] in t * t",
        "(x[0] + f32(1.0)) * (x[0] + f32(1.0))"}) {
    const RefTensor y = of(twice, x);
    EXPECT_GE(y.systematic_at(0), 2 * 8 * kD) << twice;
    EXPECT_LT(y.deviation[0], kD) << twice;
  }
  const Module module = text::parse(R"(module
prim def f(x: Buffer((8,), f32), out y: Buffer((8,), f32)) {
  alloc s: Buffer((1,), f32)
  s[0] = f32(0.0)
  for i in serial(8) { s[0] = s[0] + x[i] }
  for i in serial(8) { y[i] = x[i] * s[0] }
})",
                                    "test");
  std::vector<RefTensor> params = {input({1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8}),
                                   RefTensor::zeros(DType::kF32, {8})};
  evaluate_with_bounds(*tir::as_prim_func(module.find("f")), params, {});
  double sum = 1.1, variance = 0;
  for (size_t i = 1; i < 8; ++i) {
    sum += params[0].values[i];
    variance += rounding(sum);
  }
  for (size_t i = 0; i < 8; ++i) {
    const double factor = params[0].values[i];
    EXPECT_GE(params[1].systematic_at(i), 8 * factor * std::sqrt(variance));
    EXPECT_NEAR(params[1].deviation[i], std::sqrt(rounding(sum * factor)), 1e-12);
  }
  EXPECT_EQ(params[1].correlated, 1);
}

TEST(ProgramDeviations, RunningSumsAreCorrelated) {
  const Module module = text::parse(R"(module
prim def f(x: Buffer((8,), f32), out y: Buffer((8,), f32)) {
  y[0] = x[0]
  for i in serial(7) { y[i + 1] = y[i] + x[i + 1] }
})",
                                    "test");
  std::vector<RefTensor> params = {input(std::vector<double>(8, 1.1)),
                                   RefTensor::zeros(DType::kF32, {8})};
  evaluate_with_bounds(*tir::as_prim_func(module.find("f")), params, {});
  EXPECT_EQ(params[1].correlated, 8);
}

// What a step reads from the step before is in the errors of both steps' results.
TEST(ProgramDeviations, ResultsOfAScanAreCorrelated) {
  const auto correlated = [](const std::string& body) {
    const Module module = text::parse(
        "module\nprim def f(x: Buffer((8,), f32), out y: Buffer((8,), f32)) {\n"
        "  alloc s: Buffer((1,), f32)\n  s[0] = f32(0.0)\n" +
            body + "}",
        "test");
    std::vector<RefTensor> params = {input(std::vector<double>(8, 1.1)),
                                     RefTensor::zeros(DType::kF32, {8})};
    evaluate_with_bounds(*tir::as_prim_func(module.find("f")), params, {});
    return params[1].correlated;
  };
  EXPECT_EQ(correlated("for i in serial(8) { y[i] = s[0]\n s[0] = s[0] * f32(0.5) + x[i] }"), 8);
  EXPECT_EQ(correlated("for i in serial(8) { s[0] = s[0] + x[i]\n y[i] = s[0] }"), 8);
  // Each step begins a sum of its own.
  EXPECT_EQ(correlated("for i in serial(8) { s[0] = f32(0.0)\n for j in serial(8) "
                       "{ s[0] = s[0] + x[j] }\n y[i] = s[0] * x[i] }"),
            1);
  EXPECT_EQ(correlated("for i in serial(8) { s[0] = s[0] + x[i] }\n"
                       "for i in serial(8) { y[i] = s[0] * x[i] }"),
            1);
}

TEST(ProgramDeviations, BeyondTheDomainOfAFunctionNothingIsKnown) {
  for (const char* text : {"log(x[0])", "rsqrt(x[0])"}) {
    const RefTensor y = of(text, input({kD / 2, 0, 0}, 0, kD));
    EXPECT_TRUE(std::isinf(y.bound[0])) << text;
    EXPECT_TRUE(std::isinf(y.systematic_at(0))) << text;
    EXPECT_EQ(y.deviation[0], 0) << text;
  }
}

TEST(ProgramDeviations, AllowancesWidenSumsOfProducts) {
  const RefTensor x = input({kA, kB, kC});
  const double term = kA * kB, sum = term + 1, unit = 0x1p-11;
  const double honest = rounding(term) + rounding(sum);
  const char* const text = "x[0] * x[1] + f32(1.0)";
  expect_parts(of(text, x), 0, honest, "none");
  expect_parts(of(text, x, {.precision = OperandPrecision::kTF32}), 2 * unit * std::fabs(term),
               honest + 2 * unit * unit * term * term, "tf32");
  expect_parts(of(text, x, {.half_sums = true}), 0,
               rounding(term) + unit * unit / 3 * (term * term + sum * sum), "f16 sums");
  // f16 and TF32 hold these.
  const RefTensor short_ones = input({1.5, -2.75, 0});
  expect_parts(of(text, short_ones, {.precision = OperandPrecision::kTF32}), 0,
               rounding(1.5 * 2.75) + rounding(1.5 * 2.75 - 1), "exact operands");
}

}  // namespace
}  // namespace tapml::interp
