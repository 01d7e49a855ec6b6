// Matrix operations: the tiled product of a kernel, each operation alone, and what the threads of a
// subgroup have to agree on.
#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "support/matrix_program.h"
#include "verified_program.h"

namespace tapml::interp {
namespace {

// Multiples of 1/8 from -1 to 1: all sums of the tests are exact in f32.
HostTensor eighths(DType dtype, Shape shape, const std::string& name) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  RandomStream stream(5, name);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, (static_cast<double>(stream.below(17)) - 8) / (is_float(dtype) ? 8 : 1));
  }
  return tensor;
}

// The product in plain loops of the language, in the accumulator's dtype.
HostTensor by_loops(const HostTensor& x, const HostTensor& w, DType dtype) {
  const std::string in = dtype_name(x.dtype()), out = dtype_name(dtype);
  const auto func =
      verified_program("prim def loops(x: Buffer((m, k), " + in + "), w: Buffer((k, n), " + in +
                       "), out y: Buffer((m, n), " + out +
                       "), m: i64, k: i64, n: i64) {\n"
                       "for i in serial(m) { for j in serial(n) {\n y[i, j] = cast(" +
                       out + ", 0)\n for r in serial(k) {\n y[i, j] = y[i, j] + cast(" + out +
                       ", x[i, r])*cast(" + out + ", w[r, j])\n } } } }");
  const int64_t m = x.shape()[0], k = x.shape()[1], n = w.shape()[1];
  std::vector<HostTensor> params = {x, w, HostTensor::zeros(dtype, {m, n})};
  run_prim_func(*func, params, {m, k, n});
  return params[2];
}

TEST(MatrixPrograms, ATiledProductEqualsPlainLoops) {
  const auto func = verified_program(testing::matrix_program());
  for (const auto& [m, k, n] : std::vector<std::array<int64_t, 3>>{
           {32, 16, 32}, {32, 32, 64}, {64, 48, 32}, {32, 512, 64}, {64, 1024, 32}}) {
    SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
    const HostTensor x = eighths(DType::kF16, {m, k}, "x"), w = eighths(DType::kF16, {k, n}, "w");
    std::vector<HostTensor> params = {x, w, HostTensor::zeros(DType::kF32, {m, n})};
    run_prim_func(*func, params, {m, k, n});
    const HostTensor expected = by_loops(x, w, DType::kF32);
    for (int64_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(params[2].at_f64(i), expected.at_f64(i)) << i;
    }
  }
}

// The reference with bounds: the f64 value, and a bound that a f32 product stays within.
TEST(MatrixPrograms, TheTiledProductHasBounds) {
  const auto func = verified_program(testing::matrix_program());
  constexpr int64_t m = 32, k = 512, n = 32;
  HostTensor x = HostTensor::zeros(DType::kF16, {m, k}), w = HostTensor::zeros(DType::kF16, {k, n});
  RandomStream stream(9, "bounds");
  for (HostTensor* tensor : {&x, &w}) {
    for (int64_t i = 0; i < tensor->size(); ++i) tensor->set_f64(i, 2 * stream.unit() - 1);
  }
  std::vector<op::RefTensor> params = {op::RefTensor::from(x), op::RefTensor::from(w),
                                       op::RefTensor::from(HostTensor::zeros(DType::kF32, {m, n}))};
  evaluate_with_bounds(*func, params, {m, k, n});
  const HostTensor rounded = by_loops(x, w, DType::kF32);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double exact = 0;
      for (int64_t r = 0; r < k; ++r) exact += x.at_f64(i * k + r) * w.at_f64(r * n + j);
      const auto at = static_cast<size_t>(i * n + j);
      ASSERT_NEAR(params[2].values[at], exact, 1e-9);
      ASSERT_GT(params[2].bound[at], 0);
      ASSERT_LT(params[2].bound[at], 1e-3);
      ASSERT_LE(std::fabs(rounded.at_f64(i * n + j) - exact), params[2].bound[at]);
    }
  }
}

// y = x * w + c for one fragment of each, with the layouts of the operands in memory.
std::string one_product(const std::string& in, const std::string& out, const std::string& shapes,
                        const std::string& left, const std::string& right) {
  return "prim def one(x: Buffer(" + shapes + in + "), w: Buffer(" + shapes + in +
         "), c: Buffer((16, 16), " + out + "), out y: Buffer((16, 16), " + out + ")) {\n" +
         R"(for g in workgroup(1) { for t in thread(32) {
              alloc a: Buffer((16, 16), )" +
         in + R"(, fragment)
              alloc b: Buffer((16, 16), )" +
         in + R"(, fragment)
              alloc d: Buffer((16, 16), )" +
         out + R"(, fragment)
              a = matrix_load()" +
         left + R"(, 32)
              b = matrix_load()" +
         right + R"(, 32)
              d = matrix_load(c[0, 0], 16, row_major, 32)
              d = matrix_multiply_add(a, b, d, 32)
              y[0, 0] = matrix_store(d, 16, column_major, 32)
         } } })";
}

struct Dtypes {
  DType in, out;
};

class MatrixDtypes : public ::testing::TestWithParam<Dtypes> {};

// Stored by columns: the transposed product.
TEST_P(MatrixDtypes, EachProductAndLayout) {
  const auto [in, out] = GetParam();
  const HostTensor x = eighths(in, {16, 16}, "x"), w = eighths(in, {16, 16}, "w"),
                   c = eighths(out, {16, 16}, "c");
  HostTensor turned = HostTensor::zeros(in, {16, 16});
  for (int64_t i = 0; i < 256; ++i) turned.set_f64(i % 16 * 16 + i / 16, w.at_f64(i));
  const HostTensor product = by_loops(x, w, out);
  for (const bool by_rows : {true, false}) {
    const auto func = verified_program(
        one_product(dtype_name(in), dtype_name(out), "(16, 16), ", "x[0, 0], 16, row_major",
                    by_rows ? "w[0, 0], 16, row_major" : "w[0, 0], 16, column_major"));
    std::vector<HostTensor> params = {x, by_rows ? w : turned, c, HostTensor::zeros(out, {16, 16})};
    run_prim_func(*func, params, {});
    for (int64_t i = 0; i < 256; ++i) {
      const int64_t own = i % 16 * 16 + i / 16;
      ASSERT_EQ(params[3].at_f64(own), product.at_f64(i) + c.at_f64(i)) << by_rows << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MatrixDtypes,
    ::testing::Values(Dtypes{DType::kF16, DType::kF32}, Dtypes{DType::kBF16, DType::kF32},
                      Dtypes{DType::kI8, DType::kI32}, Dtypes{DType::kF16, DType::kF16}),
    [](const auto& each) {
      return std::string(dtype_name(each.param.in)) + "_" + dtype_name(each.param.out);
    });

// A sum of f16 rounds at every step: 2048 + 1 is 2048.
TEST(MatrixPrograms, SumsRoundToTheAccumulator) {
  const auto func = verified_program(
      one_product("f16", "f16", "(16, 16), ", "x[0, 0], 16, row_major", "w[0, 0], 16, row_major"));
  HostTensor ones = HostTensor::zeros(DType::kF16, {16, 16});
  HostTensor large = HostTensor::zeros(DType::kF16, {16, 16});
  for (int64_t i = 0; i < 256; ++i) {
    ones.set_f64(i, 1);
    large.set_f64(i, 2048);
  }
  std::vector<HostTensor> params = {ones, ones, large, HostTensor::zeros(DType::kF16, {16, 16})};
  run_prim_func(*func, params, {});
  EXPECT_EQ(params[3].at_f64(0), 2048);
}

// Fragments of other extents, from a flat buffer by its leading dimension.
TEST(MatrixPrograms, ExtentsAndLeadingDimensionsMayDiffer) {
  const auto func = verified_program(R"(
prim def k(x: Buffer((200,), i8), w: Buffer((200,), i8), out y: Buffer((8, 32), i32)) {
  for g in workgroup(1) { for t in thread(16) {
    alloc a: Buffer((8, 4), i8, fragment)
    alloc b: Buffer((4, 32), i8, fragment)
    alloc c: Buffer((8, 32), i32, fragment)
    a = matrix_load(x[3], 7, row_major, 16)
    b = matrix_load(w[1], 5, column_major, 16)
    c = matrix_fill(i32(-1), 16)
    c = matrix_multiply_add(a, b, c, 16)
    y[0, 0] = matrix_store(c, 32, row_major, 16)
  } }
})");
  const HostTensor x = eighths(DType::kI8, {200}, "x"), w = eighths(DType::kI8, {200}, "w");
  std::vector<HostTensor> params = {x, w, HostTensor::zeros(DType::kI32, {8, 32})};
  run_prim_func(*func, params, {});
  for (int64_t i = 0; i < 8; ++i) {
    for (int64_t j = 0; j < 32; ++j) {
      double expected = -1;
      for (int64_t r = 0; r < 4; ++r) {
        expected += x.at_f64(3 + i * 7 + r) * w.at_f64(1 + j * 5 + r);
      }
      ASSERT_EQ(params[2].at_f64(i * 32 + j), expected) << i << " " << j;
    }
  }
}

// Two subgroups of 16; `body` runs in each thread, with a filled fragment c.
std::string two_subgroups(const std::string& body) {
  return R"(
prim def k(x: Buffer((32,), f32), out y: Buffer((64, 16), f32)) {
  for g in workgroup(1) { for t in thread(32) {
    alloc c: Buffer((16, 16), f32, fragment)
    c = matrix_fill(cast(f32, t//16) + f32(1.0), 16)
    )" + body +
         "\n} } }";
}

std::vector<HostTensor> run_subgroups(const std::string& body) {
  std::vector<HostTensor> params = {HostTensor::zeros(DType::kF32, {32}),
                                    HostTensor::zeros(DType::kF32, {64, 16})};
  run_prim_func(*verified_program(two_subgroups(body)), params, {});
  return params;
}

TEST(MatrixPrograms, SubgroupsMayTakeDifferentPaths) {
  const auto stored =
      run_subgroups("if t//16 == 1 { y[16, 0] = matrix_store(c, 16, row_major, 16) }")[1];
  EXPECT_EQ(stored.at_f64(0), 0);
  EXPECT_EQ(stored.at_f64(16 * 16), 2);
  const auto looped = run_subgroups(
      "for s in serial(t//16 + 1) { y[t//16*32 + s*16, 0] = matrix_store(c, 16, row_major, 16) }");
  EXPECT_EQ(looped[1].at_f64(0), 1);
  EXPECT_EQ(looped[1].at_f64(16 * 16), 0);
  EXPECT_EQ(looped[1].at_f64(32 * 16), 2);
  EXPECT_EQ(looped[1].at_f64(48 * 16), 2);
}

TEST(MatrixPrograms, TheThreadsOfASubgroupMayNot) {
  EXPECT_EQ(internal_error_of([] {
              run_subgroups("if t%2 == 1 { y[0, 0] = matrix_store(c, 16, row_major, 16) }");
            }),
            "a branch around a barrier differs between invocations");
  // A barrier is for the whole group.
  EXPECT_EQ(
      internal_error_of([] {
        run_subgroups("if t//16 == 1 { barrier y[0, 0] = matrix_store(c, 16, row_major, 16) }");
      }),
      "a branch around a barrier differs between invocations");
  EXPECT_EQ(
      internal_error_of([] { run_subgroups("y[t, 0] = matrix_store(c, 16, row_major, 16)"); }),
      "the threads of a subgroup reach matrix_store with different operands");
  EXPECT_EQ(
      internal_error_of([] {
        run_subgroups(
            "c = matrix_fill(cast(f32, t), 16)\ny[0, 0] = matrix_store(c, 16, row_major, 16)");
      }),
      "the threads of a subgroup reach matrix_fill with different operands");
}

TEST(MatrixPrograms, AFragmentStaysInItsBuffer) {
  EXPECT_EQ(
      internal_error_of([] { run_subgroups("y[49, 0] = matrix_store(c, 16, row_major, 16)"); }),
      "element [15, 0] of matrix_store is element 1024 of buffer y, which has 1024");
}

}  // namespace
}  // namespace tapml::interp
