// Portable math against the C library in double, through the tensor-program interpreter in f32.
#include "passes/lower_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "interp/interpreter.h"
#include "tir/builder.h"

namespace tapml::passes {
namespace {

std::vector<float> evaluate(const std::string& name, const std::vector<float>& inputs) {
  auto count = static_cast<int64_t>(inputs.size());
  tir::Buffer x = tir::make_buffer("x", DType::kF32, {count});
  tir::Buffer y = tir::make_buffer("y", DType::kF32, {count});
  tir::Stmt body = tir::compute("math", y, [&](const std::vector<Var>& i) {
    return make_call(name, DType::kF32, {tir::load(x, {i[0]})});
  });
  tir::PrimFuncRef func =
      lower_math(*tir::make_prim_func({{x, AccessMode::kIn}, {y, AccessMode::kOut}}, body));
  std::vector<HostTensor> params = {HostTensor::from<float>(DType::kF32, {count}, inputs),
                                    HostTensor::zeros(DType::kF32, {count})};
  interp::run_prim_func(*func, params, {});
  auto values = params[1].values<float>();
  return {values.begin(), values.end()};
}

double ulps(float value, double exact) {
  float nearest = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(value) ? 0 : 1e9;
  if (std::isinf(nearest)) return value == nearest ? 0 : 1e9;
  float next = std::nextafter(std::abs(nearest), std::numeric_limits<float>::infinity());
  return std::abs(value - exact) / (static_cast<double>(next) - std::abs(nearest));
}

struct MathCase {
  const char* name;
  double (*exact)(double);
  float low, high;
};

class LowerMath : public ::testing::TestWithParam<MathCase> {};

TEST_P(LowerMath, WithinTwoUlp) {
  const MathCase& c = GetParam();
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(c.low, c.high);
  std::vector<float> inputs = {0.0f, -0.0f, c.low, c.high};
  for (int i = 0; i < 20000; ++i) inputs.push_back(uniform(generator));
  for (int i = 0; i < 4000; ++i) inputs.push_back(uniform(generator) * 1e-3f);
  if (c.low >= 0) inputs.erase(inputs.begin(), inputs.begin() + 2);
  std::vector<float> values = evaluate(c.name, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_LE(ulps(values[i], c.exact(static_cast<double>(inputs[i]))), 2)
        << c.name << "(" << inputs[i] << ") = " << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, LowerMath,
                         ::testing::Values(MathCase{"exp", std::exp, -103, 90},
                                           MathCase{"expm1", std::expm1, -30, 89},
                                           MathCase{"log", std::log, 1e-30f, 1e30f},
                                           MathCase{"tanh", std::tanh, -12, 12},
                                           MathCase{"sin", std::sin, -3, 3},
                                           MathCase{"cos", std::cos, -1.5, 1.5}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(LowerMath, SpecialValues) {
  float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  std::vector<float> exp = evaluate("exp", {inf, -inf, nan, 1000, -1000});
  EXPECT_EQ(exp[0], inf);
  EXPECT_EQ(exp[1], 0);
  EXPECT_TRUE(std::isnan(exp[2]));
  EXPECT_EQ(exp[3], inf);
  EXPECT_EQ(exp[4], 0);
  std::vector<float> expm1 = evaluate("expm1", {inf, -inf, nan, 88.9f, -1000, 1e-42f, -0.0f});
  EXPECT_EQ(expm1[0], inf);
  EXPECT_EQ(expm1[1], -1);
  EXPECT_TRUE(std::isnan(expm1[2]));
  EXPECT_EQ(expm1[3], inf);
  EXPECT_EQ(expm1[4], -1);
  EXPECT_EQ(expm1[5], 1e-42f);
  EXPECT_TRUE(expm1[6] == 0 && std::signbit(expm1[6]));
  std::vector<float> log = evaluate("log", {0, -1, inf, nan, 1, 1e-42f});
  EXPECT_EQ(log[0], -inf);
  EXPECT_TRUE(std::isnan(log[1]));
  EXPECT_EQ(log[2], inf);
  EXPECT_TRUE(std::isnan(log[3]));
  EXPECT_EQ(log[4], 0);
  EXPECT_NEAR(log[5], std::log(1e-42f), 1e-4);
  EXPECT_TRUE(std::isnan(evaluate("tanh", {nan})[0]));
}

TEST(LowerMath, LargeAnglesKeepTheirAbsoluteError) {
  std::vector<float> inputs;
  for (int i = 1; i < 2000; ++i) inputs.push_back(static_cast<float>(i) * 49.7f);
  std::vector<float> sin = evaluate("sin", inputs), cos = evaluate("cos", inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_NEAR(sin[i], std::sin(static_cast<double>(inputs[i])), 2e-7) << inputs[i];
    EXPECT_NEAR(cos[i], std::cos(static_cast<double>(inputs[i])), 2e-7) << inputs[i];
  }
}

}  // namespace
}  // namespace tapml::passes
