// The interpreter of tensor programs.
#include <gtest/gtest.h>

#include <cmath>

#include "interp/interpreter.h"
#include "support/dtypes.h"
#include "tir/builder.h"
#include "tir/subgroup.h"
#include "verified_program.h"

namespace tapml::interp {
namespace {

using testing::kF32;
using testing::kI32;

// out[0] = value, run on no inputs.
double value_of(const PrimExpr& value) {
  tir::Buffer out = tir::make_buffer("out", value.dtype(), {1});
  auto func = tir::make_prim_func({{out, AccessMode::kOut}}, tir::make_store(out, {0}, value));
  std::vector<HostTensor> params = {HostTensor::zeros(value.dtype(), {1})};
  run_prim_func(*func, params, {});
  return params[0].at_f64(0);
}

PrimExpr f32(double value) { return make_float(value, kF32); }
PrimExpr i32(int64_t value) { return make_int(value, kI32); }
PrimExpr node(ExprKind kind, PrimExpr a, PrimExpr b) { return make_binary(kind, a, b); }

TEST(TirExpressions, RoundEveryStep) {
  // 2^24 + 1 is not representable in f32.
  EXPECT_EQ(value_of(node(ExprKind::kAdd, f32(16777216), f32(1))), 16777216);
  EXPECT_EQ(
      value_of(node(ExprKind::kAdd, make_float(16777216, DType::kF64), make_float(1, DType::kF64))),
      16777217);
  EXPECT_EQ(
      value_of(node(ExprKind::kAdd, make_float(2048, DType::kF16), make_float(1, DType::kF16))),
      2048);
  EXPECT_EQ(value_of(node(ExprKind::kMul, make_float(1.0078125, DType::kBF16),
                          make_float(1.0078125, DType::kBF16))),
            1.015625);
  EXPECT_EQ(value_of(f32(0.1)), static_cast<double>(0.1f));
  EXPECT_EQ(value_of(cast(DType::kF16, f32(65520))), INFINITY);
  EXPECT_EQ(value_of(node(ExprKind::kDiv, f32(1), f32(3))), static_cast<double>(1.0f / 3.0f));
}

TEST(TirExpressions, Integers) {
  EXPECT_EQ(value_of(node(ExprKind::kAdd, i32(2147483647), i32(1))), -2147483648.0);
  EXPECT_EQ(value_of(node(ExprKind::kFloorDiv, i32(-7), i32(2))), -4);
  EXPECT_EQ(value_of(node(ExprKind::kFloorMod, i32(-7), i32(2))), 1);
  EXPECT_EQ(value_of(node(ExprKind::kFloorMod, i32(7), i32(-2))), -1);
  EXPECT_EQ(value_of(node(ExprKind::kMul, make_int(200, DType::kU8), make_int(2, DType::kU8))),
            144);
  PrimExpr big = make_int(-1, DType::kU64);
  EXPECT_EQ(value_of(cast(kI32, node(ExprKind::kLt, make_int(5, DType::kU64), big))), 1);
  EXPECT_EQ(value_of(cast(kI32, f32(-2.9))), -2);
  EXPECT_EQ(value_of(cast(DType::kI64, f32(1e30))), static_cast<double>(INT64_MAX));
  EXPECT_EQ(value_of(node(ExprKind::kFloorDiv, i32(1), i32(0))), 0);
  EXPECT_EQ(value_of(node(ExprKind::kFloorMod, i32(1), i32(0))), 0);
  EXPECT_EQ(value_of(node(ExprKind::kFloorDiv, i32(INT32_MIN), i32(-1))), -2147483648.0);
}

// A load out of bounds is an error where it is evaluated.
TEST(TirExpressions, OnlyTheSelectedSideIsEvaluated) {
  tir::Buffer out = tir::make_buffer("out", kI32, {1});
  PrimExpr bad = tir::load(out, {5});
  auto run = [&](const PrimExpr& value) {
    auto func = tir::make_prim_func({{out, AccessMode::kOut}}, tir::make_store(out, {0}, value));
    std::vector<HostTensor> params = {HostTensor::zeros(kI32, {1})};
    run_prim_func(*func, params, {});
    return params[0].at_f64(0);
  };
  auto choose = [&](bool condition) {
    return make_node(ExprKind::kSelect, kI32, {make_bool(condition), i32(3), bad});
  };
  EXPECT_EQ(run(choose(true)), 3);
  EXPECT_NE(internal_error_of([&] { run(choose(false)); }), "no error");
  PrimExpr wrong = node(ExprKind::kEq, bad, i32(0));
  auto both = [&](ExprKind kind, bool first) {
    return cast(kI32, make_node(kind, DType::kBool, {make_bool(first), wrong}));
  };
  EXPECT_EQ(run(both(ExprKind::kAnd, false)), 0);
  EXPECT_EQ(run(both(ExprKind::kOr, true)), 1);
}

TEST(TirExpressions, Intrinsics) {
  auto call = [](const char* name, std::vector<PrimExpr> operands, DType dtype = kF32) {
    return value_of(make_call(name, dtype, std::move(operands)));
  };
  EXPECT_EQ(call("exp", {f32(1)}), static_cast<double>(std::exp(1.0f)));
  EXPECT_EQ(call("rsqrt", {f32(4)}), 0.5);
  EXPECT_EQ(call("round", {f32(2.5)}), 2);
  EXPECT_EQ(call("trunc", {f32(-2.5)}), -2);
  EXPECT_EQ(call("floor", {f32(-2.5)}), -3);
  EXPECT_EQ(call("abs", {f32(-2.5)}), 2.5);
  EXPECT_EQ(call("isnan", {f32(NAN)}, DType::kBool), 1);
  EXPECT_EQ(call("fma", {f32(1 + 0x1p-12), f32(1 + 0x1p-12), f32(-1)}),
            static_cast<double>(std::fma(1 + 0x1p-12f, 1 + 0x1p-12f, -1.0f)));
  EXPECT_EQ(call("shift_left", {i32(3), i32(4)}, kI32), 48);
  EXPECT_EQ(call("shift_right", {i32(-16), i32(2)}, kI32), -4);
  EXPECT_EQ(call("shift_right", {make_int(0x80000000, DType::kU32), make_int(31, DType::kU32)},
                 DType::kU32),
            1);
  EXPECT_EQ(call("bit_and", {i32(12), i32(10)}, kI32), 8);
  EXPECT_EQ(call("bit_xor", {i32(12), i32(10)}, kI32), 6);
  EXPECT_EQ(call("reinterpret", {f32(1)}, kI32), 0x3f800000);
  EXPECT_EQ(call("reinterpret", {i32(0x40000000)}), 2);
}

TEST(TirExpressions, Let) {
  Var x = make_var("x", kF32);
  EXPECT_EQ(value_of(let(x, f32(3), x * x)), 9);
}

class TirPrograms : public ::testing::Test {
 protected:
  Var n = make_var("n");
  tir::Buffer in = tir::make_buffer("in", kF32, {n});
  HostTensor numbers(std::vector<float> values) {
    Shape shape = {static_cast<int64_t>(values.size())};
    return HostTensor::from<float>(kF32, shape, values);
  }
};

TEST_F(TirPrograms, EmptyReductionIsItsInitialValue) {
  tir::Buffer out = tir::make_buffer("out", kF32, {3});
  tir::Stmt body = tir::reduce(
      "sum", out, {n}, f32(0.5), [](PrimExpr a, PrimExpr b) { return a + b; },
      [&](const std::vector<Var>&, const std::vector<Var>& r) { return tir::load(in, {r[0]}); });
  auto func = tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  for (int64_t count : {0, 1, 4}) {
    std::vector<HostTensor> params = {numbers(std::vector<float>(count, 2.0f)),
                                      numbers({-1, -1, -1})};
    run_prim_func(*func, params, {count});
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(params[1].at_f64(i), 0.5 + 2.0 * count);
  }
}

TEST_F(TirPrograms, IndexOutOfRangeIsNamed) {
  tir::Buffer out = tir::make_buffer("out", kF32, {n});
  tir::Stmt body = tir::compute(
      "shift", out, [&](const std::vector<Var>& i) { return tir::load(in, {i[0] + 1}); });
  auto func = tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  std::vector<HostTensor> params = {numbers({1, 2}), numbers({0, 0})};
  EXPECT_EQ(internal_error_of([&] { run_prim_func(*func, params, {2}); }),
            "index 2 is outside dimension 0 of buffer in, which has extent 2");
  EXPECT_EQ(internal_error_of([&] { run_prim_func(*func, params, {3}); }),
            "parameter in is f32[3], but is given f32[2]");
}

TEST_F(TirPrograms, FreshMemoryIsNotANumber) {
  tir::Buffer out = tir::make_buffer("out", kF32, {1}), scratch = tir::make_buffer("s", kF32, {n});
  tir::Stmt body = tir::make_alloc(scratch, tir::make_store(out, {0}, tir::load(scratch, {0})));
  auto func = tir::make_prim_func({{out, AccessMode::kOut}}, body);
  std::vector<HostTensor> params = {numbers({0})};
  run_prim_func(*func, params, {4});
  EXPECT_TRUE(std::isnan(params[0].at_f64(0)));
}

TEST_F(TirPrograms, PredicateGuardsTheTail) {
  tir::Buffer out = tir::make_buffer("out", kF32, {n});
  Var outer = make_var("o"), inner = make_var("i"), v = make_var("v");
  auto block = std::make_shared<tir::BlockNode>();
  block->iters = {{v, n, tir::IterType::kSpatial, outer * 4 + inner}};
  block->predicate = lt(outer * 4 + inner, n);
  block->body = tir::make_store(out, {v}, tir::load(in, {v}) * f32(2));
  tir::Stmt body = tir::make_for(outer, floordiv(n + 3, 4),
                                 tir::make_for(inner, 4, block, tir::ForKind::kVectorized),
                                 tir::ForKind::kParallel);
  auto func = tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  std::vector<HostTensor> params = {numbers({1, 2, 3, 4, 5}), numbers({0, 0, 0, 0, 0})};
  run_prim_func(*func, params, {5});
  EXPECT_EQ(params[1].at_f64(4), 10);
}

// A tree sum in shared memory: every step needs the previous one from all threads.
TEST_F(TirPrograms, BarriersKeepAGroupInStep) {
  constexpr int64_t kThreads = 8;
  tir::Buffer out = tir::make_buffer("out", kF32, {1});
  tir::Buffer shared = tir::make_buffer("shared", kF32, {kThreads}, tir::Scope::kShared);
  Var group = make_var("g"), t = make_var("t"), step = make_var("s");
  tir::Buffer local = tir::make_buffer("local", kF32, {1}, tir::Scope::kLocal);
  // Rotates values by one thread per step, through registers; each thread sums the values it
  // receives.
  auto at = [&](PrimExpr index) { return tir::load(shared, {index}); };
  tir::Stmt loop = tir::make_for(
      step, kThreads - 1,
      tir::make_seq(
          {tir::make_store(local, {0}, at(floormod(t + 1, kThreads))), tir::make_barrier(),
           tir::make_store(shared, {t}, tir::load(local, {0}) + f32(1)), tir::make_barrier()}));
  tir::Stmt body =
      tir::make_seq({tir::make_store(shared, {t}, tir::load(in, {t})), tir::make_barrier(), loop,
                     tir::make_if(eq(t, 0), tir::make_store(out, {0}, at(0)))});
  body = tir::make_for(t, kThreads, tir::make_alloc(local, body), tir::ForKind::kThread);
  body = tir::make_for(group, 1, tir::make_alloc(shared, body), tir::ForKind::kWorkgroup);
  auto func = tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  std::vector<HostTensor> params = {numbers({10, 20, 30, 40, 50, 60, 70, 80}), numbers({0})};
  run_prim_func(*func, params, {kThreads});
  // Seven rotations bring element 7 to thread 0, plus one at each step.
  EXPECT_EQ(params[1].at_f64(0), 87);
}

TEST_F(TirPrograms, BarrierOutsideThreadsIsAnError) {
  auto func = tir::make_prim_func({}, tir::make_barrier());
  std::vector<HostTensor> params;
  EXPECT_EQ(internal_error_of([&] { run_prim_func(*func, params, {}); }),
            "a barrier outside a loop over threads");
}

// Two subgroups of four: each thread gets its own subgroup's result, whatever the other has.
TEST_F(TirPrograms, SubgroupsExchangeValues) {
  constexpr int64_t kThreads = 8, kWidth = 4;
  tir::Buffer out = tir::make_buffer("out", kF32, {3, kThreads});
  tir::Buffer own = tir::make_buffer("own", kF32, {1}, tir::Scope::kLocal);
  Var group = make_var("g"), t = make_var("t");
  std::vector<tir::Stmt> stmts;
  auto store = [&](int64_t row, tir::SubgroupOp op, int64_t mask) {
    const PrimExpr value = tir::load(in, {t});
    stmts.push_back(tir::make_store(own, {0}, tir::subgroup_call({op, value, mask, kWidth})));
    stmts.push_back(tir::make_store(out, {row, t}, tir::load(own, {0})));
  };
  store(0, tir::SubgroupOp::kSum, 0);
  store(1, tir::SubgroupOp::kMin, 0);
  store(2, tir::SubgroupOp::kShuffleXor, 3);
  tir::Stmt body = tir::make_alloc(own, tir::make_seq(std::move(stmts)));
  body = tir::make_for(t, kThreads, body, tir::ForKind::kThread);
  body = tir::make_for(group, 1, body, tir::ForKind::kWorkgroup);
  auto func = tir::make_prim_func({{in, AccessMode::kIn}, {out, AccessMode::kOut}}, body);
  std::vector<HostTensor> params = {numbers({1, 2, 3, 4, 50, 60, 70, 80}),
                                    HostTensor::zeros(kF32, {3, kThreads})};
  run_prim_func(*func, params, {kThreads});
  const std::vector<double> expected = {10, 10, 10, 10, 260, 260, 260, 260,  //
                                        1,  1,  1,  1,  50,  50,  50,  50,   //
                                        4,  3,  2,  1,  80,  70,  60,  50};
  for (int64_t i = 0; i < params[1].size(); ++i) {
    EXPECT_EQ(params[1].at_f64(i), expected[static_cast<size_t>(i)]) << i;
  }
}

TEST_F(TirPrograms, SubgroupOperationOutsideThreadsIsAnError) {
  tir::Buffer out = tir::make_buffer("out", kF32, {1});
  const PrimExpr sum = tir::subgroup_call({tir::SubgroupOp::kSum, f32(1), 0, 4});
  auto func = tir::make_prim_func({{out, AccessMode::kOut}}, tir::make_store(out, {0}, sum));
  std::vector<HostTensor> params = {numbers({0})};
  EXPECT_EQ(internal_error_of([&] { run_prim_func(*func, params, {}); }),
            "a subgroup operation outside a loop over threads");
}

}  // namespace
}  // namespace tapml::interp
