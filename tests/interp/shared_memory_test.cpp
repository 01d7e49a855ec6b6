// Asynchronous copies, buffers with strides, and shared buffers whose shape depends on scalars.
#include <gtest/gtest.h>

#include <cmath>

#include "interp/interpreter.h"
#include "support/matrix_program.h"
#include "verified_program.h"

namespace tapml::interp {
namespace {

HostTensor counting(DType dtype, Shape shape) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, static_cast<double>(i + 1));
  return tensor;
}

// Each of 8 threads copies a pair; `wait` is what comes before the pairs are read in reverse.
std::string reversed_pairs(const std::string& wait, const std::string& dtype = "f32") {
  return "prim def k(x: Buffer((16,), " + dtype + "), out y: Buffer((16,), " + dtype +
         ")) {\n for g in workgroup(1) {\n alloc s: Buffer((16,), " + dtype +
         ", shared)\n for t in thread(8) {\n copy_async(s[t*2 +: 2], x[t*2 +: 2])\n " + wait +
         "\n y[15 - t*2] = s[t*2]\n y[14 - t*2] = s[t*2 + 1]\n wait_copies(0)\n } } }";
}

HostTensor run_pairs(const std::string& text, const std::string& violation, DType dtype) {
  std::vector<HostTensor> params = {counting(dtype, {16}), HostTensor::zeros(dtype, {16})};
  run_prim_func(*verified_program(text, violation), params, {});
  return params[1];
}

TEST(AsyncCopies, ArriveAtTheWait) {
  const HostTensor y =
      run_pairs(reversed_pairs("commit_copies() wait_copies(0) barrier"), "", DType::kF32);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(y.at_f64(i), 16 - i) << i;
}

// The verifier refuses these too; the interpreter shows what the missing statement does.
TEST(AsyncCopies, HoldNoValueBeforeIt) {
  const std::string no_wait =
      "T18 in k: 's' is read after copy_async without a wait that covers the copy and a barrier in "
      "between";
  const std::string group = "commit_copies() ";
  for (const auto& [wait, violation] : std::vector<std::pair<std::string, std::string>>{
           {group + "barrier", no_wait},
           {group + "wait_copies(1) barrier", no_wait},
           {"wait_copies(0) barrier",
            "T18 in k: 's' is read after copy_async without a commit_copies, a wait and a barrier "
            "in between"}}) {
    SCOPED_TRACE(wait);
    const HostTensor y = run_pairs(reversed_pairs(wait), violation, DType::kF32);
    for (int64_t i = 0; i < 16; ++i) EXPECT_TRUE(std::isnan(y.at_f64(i))) << i;
    const HostTensor z = run_pairs(reversed_pairs(wait, "i32"), violation, DType::kI32);
    for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(z.at_f64(i), -1) << i;
  }
}

TEST(AsyncCopies, WaitsKeepTheLastGroups) {
  const auto func =
      verified_program(R"(prim def k(x: Buffer((6,), f32), out y: Buffer((3, 6), f32)) {
    for g in workgroup(1) { for t in thread(1) {
      alloc s: Buffer((6,), f32, shared)
      copy_async(s[0 +: 2], x[0 +: 2])
      copy_async(s[2], x[2])
      commit_copies()
      copy_async(s[3 +: 2], x[3 +: 2])
      commit_copies()
      copy_async(s[5], x[5])
      commit_copies()
      wait_copies(2)
      barrier
      for i in serial(6) { y[0, i] = s[i] }
      wait_copies(1)
      barrier
      for i in serial(6) { y[1, i] = s[i] }
      wait_copies(0)
      barrier
      for i in serial(6) { y[2, i] = s[i] }
    } } })");
  std::vector<HostTensor> params = {counting(DType::kF32, {6}),
                                    HostTensor::zeros(DType::kF32, {3, 6})};
  run_prim_func(*func, params, {});
  const int64_t arrived[] = {3, 5, 6};
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t i = 0; i < 6; ++i) {
      const double found = params[1].at_f64(row * 6 + i);
      if (i < arrived[row]) {
        EXPECT_EQ(found, i + 1) << row << " " << i;
      } else {
        EXPECT_TRUE(std::isnan(found)) << row << " " << i;
      }
    }
  }
}

// The last tile of the product is in flight when a wait for all but one group returns, because its
// group is the last: no verifier sees that.
TEST(AsyncCopies, AMissingWaitInALaterStepShows) {
  std::string text = testing::matrix_program();
  const std::string commit = "          }\n          commit_copies()\n";
  const size_t at = text.find(commit);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, commit.size(), "            commit_copies()\n          }\n");
  constexpr int64_t m = 32, k = 512, n = 32;
  std::vector<HostTensor> params = {counting(DType::kI32, {1}), counting(DType::kI32, {1}),
                                    HostTensor::zeros(DType::kF32, {m, n})};
  params[0] = HostTensor::zeros(DType::kF16, {m, k});
  params[1] = HostTensor::zeros(DType::kF16, {k, n});
  run_prim_func(*verified_program(text), params, {m, k, n});
  for (int64_t i = 0; i < m * n; ++i) ASSERT_TRUE(std::isnan(params[2].at_f64(i))) << i;
}

TEST(AsyncCopies, OfMemoryThatEndsAreAnError) {
  const auto func = verified_program(
      R"(prim def k(x: Buffer((6,), f32), out y: Buffer((1,), f32)) {
    for g in workgroup(1) { for t in thread(1) {
      { alloc s: Buffer((6,), f32, shared) copy_async(s[0 +: 2], x[0 +: 2]) commit_copies() }
      wait_copies(0)
      y[0] = x[0]
    } } })",
      "T18 in k: the memory of 's' ends before a wait for the copies to it; wait_copies(0) "
      "waits for all");
  std::vector<HostTensor> params = {counting(DType::kF32, {6}),
                                    HostTensor::zeros(DType::kF32, {1})};
  EXPECT_EQ(internal_error_of([&] { run_prim_func(*func, params, {}); }),
            "the memory of buffer s ends before a wait for a copy of it");
}

TEST(AsyncCopies, StayInTheirBuffers) {
  const auto func =
      verified_program(R"(prim def k(x: Buffer((6,), f32), out y: Buffer((1,), f32), n: i64) {
    for g in workgroup(1) { alloc s: Buffer((6,), f32, shared) for t in thread(1) {
      copy_async(s[0 +: 2], x[n +: 2])
      commit_copies()
      wait_copies(0)
      barrier
      y[0] = s[1]
    } } })");
  std::vector<HostTensor> params = {counting(DType::kF32, {6}),
                                    HostTensor::zeros(DType::kF32, {1})};
  run_prim_func(*func, params, {4});
  EXPECT_EQ(params[1].at_f64(0), 6);
  EXPECT_EQ(internal_error_of([&] { run_prim_func(*func, params, {5}); }),
            "a copy of elements 5 to 6 is outside dimension 0 of buffer x, which has extent 6");
}

// A box of two dimensions, between buffers of different rank and strides, with bounds.
TEST(AsyncCopies, BoxesOfSeveralDimensionsKeepTheirBounds) {
  const auto func =
      verified_program(R"(prim def k(x: Buffer((2, 3, 4), f32), out y: Buffer((3, 2), f32)) {
    for g in workgroup(1) { alloc s: Buffer((4, 3), f32, shared, strides=(5, 1))
    for t in thread(1) {
      copy_async(s[1 +: 3, 1 +: 2], x[1, 0 +: 3, 2 +: 2])
      commit_copies()
      wait_copies(0)
      barrier
      for i in serial(3) { for j in serial(2) { y[i, j] = s[i + 1, j + 1] } }
    } } })");
  std::vector<op::RefTensor> params = {op::RefTensor::from(counting(DType::kF32, {2, 3, 4})),
                                       op::RefTensor::from(HostTensor::zeros(DType::kF32, {3, 2}))};
  for (size_t i = 0; i < 24; ++i) params[0].bound[i] = 0.25;
  evaluate_with_bounds(*func, params, {});
  const std::vector<double> expected = {15, 16, 19, 20, 23, 24};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(params[1].values[i], expected[i]) << i;
    EXPECT_GE(params[1].bound[i], 0.25) << i;
    EXPECT_LT(params[1].bound[i], 0.26) << i;
  }
}

// A transposition through padded rows, in both scopes.
TEST(Strides, PadRowsWithoutAnEffectOnValues) {
  for (const char* scope : {"local", "shared"}) {
    const auto func = verified_program(std::string(R"(prim def k(x: Buffer((5, 4), f32),
                                                      out y: Buffer((4, 5), f32)) {
      for g in workgroup(1) { for t in thread(1) {
        alloc s: Buffer((5, 4), f32, )") +
                                       scope + R"(, strides=(7, 1))
        for i in serial(5) { for j in serial(4) { s[i, j] = x[i, j] } }
        for i in serial(5) { for j in serial(4) { y[j, i] = s[i, j] } }
      } } })");
    std::vector<HostTensor> params = {counting(DType::kF32, {5, 4}),
                                      HostTensor::zeros(DType::kF32, {4, 5})};
    run_prim_func(*func, params, {});
    for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(params[1].at_f64(i), i % 5 * 4 + i / 5 + 1) << i;
  }
}

TEST(SharedBuffers, MayDependOnScalars) {
  const auto func =
      verified_program(R"(prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
    for g in workgroup(1) { alloc s: Buffer((n, 2), f32, shared, strides=(3, 1))
    for t in thread(4) {
      for i in serial((n + 3)//4) { if i*4 + t < n { s[i*4 + t, 1] = x[i*4 + t] } }
      barrier
      for i in serial((n + 3)//4) { if i*4 + t < n { y[i*4 + t] = s[n - 1 - (i*4 + t), 1] } }
    } } })");
  for (int64_t n : {1, 4, 7, 1000}) {
    std::vector<HostTensor> params = {counting(DType::kF32, {n}),
                                      HostTensor::zeros(DType::kF32, {n})};
    run_prim_func(*func, params, {n});
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(params[1].at_f64(i), n - i) << n << " " << i;
  }
}

}  // namespace
}  // namespace tapml::interp
