// The reference of tensor programs: f64 with running bounds.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "text/parser.h"

namespace tapml::interp {
namespace {

using op::RefTensor;

struct Program {
  Module module;
  const tir::PrimFunc* func;
};

Program parse(const std::string& text) {
  Program program{text::parse("module\nprim def f" + text, "test"), nullptr};
  program.func = tir::as_prim_func(program.module.find("f"));
  return program;
}

HostTensor random(DType dtype, Shape shape, double low, double high, const std::string& name) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  RandomStream stream(11, name);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, low + (high - low) * stream.unit());
  }
  return tensor;
}

// Inputs, then zeros for the outputs.
std::vector<RefTensor> compared(const Program& program, const std::vector<HostTensor>& params,
                                const std::vector<int64_t>& scalars) {
  std::vector<RefTensor> tensors;
  for (const HostTensor& param : params) tensors.push_back(RefTensor::from(param));
  evaluate_with_bounds(*program.func, tensors, scalars);
  return tensors;
}

const char* const kSum = R"((x: Buffer((n,), T), out y: Buffer((), T), n: i64) {
  y[] = T(0.0)
  for i in serial(n) { y[] = y[] + x[i] }
})";

std::string with_dtype(std::string text, const std::string& dtype) {
  for (size_t at = text.find('T'); at != std::string::npos; at = text.find('T', at)) {
    text.replace(at, 1, dtype);
  }
  return text;
}

TEST(ProgramBounds, SumsAreBoundForEveryOrderAndNoMore) {
  for (int64_t n : {1, 7, 100, 2000}) {
    HostTensor x = random(DType::kF32, {n}, 0.5, 1.5, "sum");
    Program program = parse(with_dtype(kSum, "f32"));
    RefTensor y = compared(program, {x, HostTensor::zeros(DType::kF32, {})}, {n})[1];
    double exact = 0;
    for (int64_t i = 0; i < n; ++i) exact += x.at_f64(i);
    EXPECT_NEAR(y.values[0], exact, 1e-12 * exact);
    float forward = 0, backward = 0, lanes[8] = {};
    for (int64_t i = 0; i < n; ++i) {
      forward += static_cast<float>(x.at_f64(i));
      backward += static_cast<float>(x.at_f64(n - 1 - i));
      lanes[i % 8] += static_cast<float>(x.at_f64(i));
    }
    float split = 0;
    for (float lane : lanes) split += lane;
    for (float sum : {forward, backward, split}) EXPECT_LE(std::abs(sum - exact), y.bound[0]) << n;
    // A dropped term is detected.
    EXPECT_LT(y.bound[0], 0.4) << n;
    if (n <= 100) {
      EXPECT_LT(y.bound[0], 1e-4 * exact) << n;
    }
  }
}

TEST(ProgramBounds, NarrowAccumulatorsHaveWiderBounds) {
  HostTensor x = random(DType::kBF16, {64}, 0.5, 1.5, "narrow");
  Program program = parse(with_dtype(kSum, "bf16"));
  std::vector<HostTensor> params = {x, HostTensor::zeros(DType::kBF16, {})};
  RefTensor y = compared(program, params, {64})[1];
  run_prim_func(*program.func, params, {64});
  EXPECT_LE(std::abs(params[1].at_f64(0) - y.values[0]), y.bound[0]);
  EXPECT_GT(y.bound[0], 0.1);
}

TEST(ProgramBounds, CancellationKeepsTheBoundOfItsTerms) {
  Program program = parse(R"((x: Buffer((2,), f32), out y: Buffer((), f32)) {
  y[] = x[0] * x[0] - x[1] * x[1]
})");
  HostTensor x = HostTensor::zeros(DType::kF32, {2});
  x.set_f64(0, 1001);
  x.set_f64(1, 1000.9);
  RefTensor y = compared(program, {x, HostTensor::zeros(DType::kF32, {})}, {})[1];
  EXPECT_GT(y.bound[0], 0.05);
  EXPECT_LT(y.bound[0], 3);
}

TEST(ProgramBounds, FunctionsFollowTheirOperands) {
  Program program = parse(R"((x: Buffer((5,), f32), out y: Buffer((5,), f32)) {
  for i in serial(5) {
    y[i] = let e: f32 = exp(f32(0.0) - abs(x[i])) in sqrt(e) / (f32(1.0) + e) + max(sin(x[i]), e)
  }
})");
  std::vector<HostTensor> params = {random(DType::kF32, {5}, -3, 3, "functions"),
                                    HostTensor::zeros(DType::kF32, {5})};
  RefTensor y = compared(program, params, {})[1];
  run_prim_func(*program.func, params, {});
  for (size_t i = 0; i < 5; ++i) {
    double x = params[0].at_f64(static_cast<int64_t>(i)), e = std::exp(-std::abs(x));
    EXPECT_DOUBLE_EQ(y.values[i], std::sqrt(e) / (1 + e) + std::max(std::sin(x), e));
    EXPECT_LE(std::abs(params[1].at_f64(static_cast<int64_t>(i)) - y.values[i]), y.bound[i]);
    EXPECT_LT(y.bound[i], 1e-4);
  }
}

TEST(ProgramBounds, ReportsUndecidedComparisons) {
  // s may be on either side of 1; the second element certainly is not.
  Program program = parse(R"((x: Buffer((2,), f32), out y: Buffer((2,), f32),
    out i: Buffer((2,), i32), out b: Buffer((2,), bool), out z: Buffer((2,), f32)) {
  alloc s: Buffer((2,), f32)
  for k in serial(2) { s[k] = x[k] * f32(10.0) }
  for k in serial(2) {
    y[k] = select(s[k] < f32(1.0), f32(3.0), f32(5.0))
    i[k] = cast(i32, s[k])
    b[k] = s[k] < f32(1.0)
    z[k] = f32(0.0)
    if (s[k] < f32(1.0)) { z[k] = f32(1.0) }
  }
})");
  HostTensor x = HostTensor::zeros(DType::kF32, {2});
  x.set_f64(0, 0.1);  // not exactly a tenth
  x.set_f64(1, 0.25);
  std::vector<HostTensor> params = {
      x, HostTensor::zeros(DType::kF32, {2}), HostTensor::zeros(DType::kI32, {2}),
      HostTensor::zeros(DType::kBool, {2}), HostTensor::zeros(DType::kF32, {2})};
  auto result = compared(program, params, {});
  EXPECT_GE(result[1].bound[0], 2);
  EXPECT_EQ(result[1].values[1], 5);
  EXPECT_EQ(result[1].bound[1], 0);
  EXPECT_TRUE(std::isinf(result[2].bound[0]));
  EXPECT_EQ(result[2].integer(1), 2);
  EXPECT_EQ(result[2].bound[1], 0);
  EXPECT_EQ(result[3].bound[0], 1);
  EXPECT_EQ(result[3].bound[1], 0);
  EXPECT_TRUE(std::isinf(result[4].bound[0]));
  EXPECT_EQ(result[4].values[1], 0);
  EXPECT_EQ(result[4].bound[1], 0);
}

TEST(ProgramBounds, InputErrorsPropagateToTheOutput) {
  Program program = parse(R"((x: Buffer((3,), f32), inout y: Buffer((3,), f32)) {
  for k in serial(3) { y[k] = y[k] * x[k] }
})");
  std::vector<RefTensor> params = {RefTensor::zeros(DType::kF32, {3}),
                                   RefTensor::zeros(DType::kF32, {3})};
  for (size_t k = 0; k < 3; ++k) {
    params[0].values[k] = 2;
    params[1].values[k] = 4;
  }
  params[0].bound[1] = 0.5;
  params[1].bound[2] = INFINITY;
  evaluate_with_bounds(*program.func, params, {});
  EXPECT_EQ(params[1].values[0], 8);
  EXPECT_LT(params[1].bound[0], 1e-5);
  EXPECT_NEAR(params[1].bound[1], 2, 1e-4);
  EXPECT_TRUE(std::isinf(params[1].bound[2]));
}

// Like a sum in a loop: rounded at each step, with the errors of all terms of the subgroup.
TEST(ProgramBounds, SubgroupsPropagateErrors) {
  Program program = parse(R"((x: Buffer((8,), f32), out y: Buffer((8,), f32)) {
  for g in workgroup(1) { for t in thread(8) {
    alloc own: Buffer((1,), f32, local)
    own[0] = subgroup_sum(x[t], 4)
    own[0] = subgroup_shuffle_xor(own[0], 1, 4)
    y[t] = own[0]
  } }
})");
  std::vector<RefTensor> params = {RefTensor::zeros(DType::kF32, {8}),
                                   RefTensor::zeros(DType::kF32, {8})};
  for (size_t t = 0; t < 8; ++t) params[0].values[t] = 0.1 * static_cast<double>(t);
  params[0].bound[5] = 0.25;
  evaluate_with_bounds(*program.func, params, {});
  EXPECT_NEAR(params[1].values[0], 0.6, 1e-6);
  EXPECT_GT(params[1].bound[0], 0);
  EXPECT_LT(params[1].bound[0], 1e-6);
  EXPECT_NEAR(params[1].values[7], 2.2, 1e-6);
  EXPECT_NEAR(params[1].bound[7], 0.25, 1e-4);
}

TEST(ProgramBounds, OverflowIsInfiniteOrUnknown) {
  Program program = parse(R"((x: Buffer((3,), f32), out y: Buffer((3,), f16)) {
  for k in serial(3) { y[k] = cast(f16, x[k]) }
})");
  HostTensor x = HostTensor::zeros(DType::kF32, {3});
  x.set_f64(0, 1e6);
  x.set_f64(1, 65504);
  x.set_f64(2, 1.0 / 3);
  RefTensor y = compared(program, {x, HostTensor::zeros(DType::kF16, {3})}, {})[1];
  EXPECT_TRUE(std::isinf(y.values[0]));
  EXPECT_EQ(y.bound[0], 0);
  EXPECT_EQ(y.values[1], 65504);
  EXPECT_GT(y.bound[2], 0);
  EXPECT_LT(y.bound[2], 1e-3);
}

}  // namespace
}  // namespace tapml::interp
