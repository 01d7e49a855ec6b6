// Which accesses of a tensor program are proved in bounds, and which are certainly out of bounds.
#include "analysis/access_bounds.h"

#include <gtest/gtest.h>

#include "text/parser.h"

namespace tapml::analysis {
namespace {

// "access, dimension, index [, outside]" of each access that is not proved; "" if all are.
std::string unproved(const std::string& program) {
  const Module module = text::parse("module\n" + program, "test");
  std::string all;
  for (const UnprovedAccess& one :
       unproved_accesses(*tir::as_prim_func(module.functions.at("f").get()))) {
    all += (all.empty() ? "" : "; ") + one.access + ", " + std::to_string(one.dimension) + ", " +
           one.index + (one.outside ? ", outside" : "") + " of " + one.last;
  }
  return all;
}

TEST(AccessBounds, ProvesPlainLoops) {
  EXPECT_EQ(unproved("prim def f(x: Buffer((n, 4), f32), out y: Buffer((n, 4), f32), n: i64) {\n"
                     "  for i in parallel(n) { for j in serial(4) { y[i, j] = x[i, 3 - j] } }\n}"),
            "");
  // Split by hand, with a guard.
  EXPECT_EQ(unproved("prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n"
                     "  for o in parallel((n + 7) // 8) { for j in serial(8) {\n"
                     "    if o * 8 + j < n { y[o * 8 + j] = x[o * 8 + j] } } }\n}"),
            "");
  // Block iterators bind the indices.
  EXPECT_EQ(unproved("prim def f(x: Buffer((n, 4), f32), out y: Buffer((n,), f32), n: i64) {\n"
                     "  for i in parallel(n) { for k in serial(4) {\n"
                     "    block \"sum\" (vi: spatial(n) = i, vk: reduce(4) = k) {\n"
                     "      reads x[vi, vk]\n      writes y[vi]\n"
                     "      init { y[vi] = f32(0.0) }\n"
                     "      y[vi] = y[vi] + x[vi, vk]\n    } } }\n}"),
            "");
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                     "  alloc t: Buffer((2, 4), f32, local)\n"
                     "  for i in serial(4) { t[1, i] = x[i]\n y[i] = t[1, 3 - i] }\n}"),
            "");
}

TEST(AccessBounds, ReportsAccessesThatAreCertainlyOutOfBounds) {
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                     "  for i in parallel(4) { y[i] = x[i + 100000000] }\n}"),
            "x[i + 100000000], 0, 100000000 to 100000003, outside of 3");
  // Only the last iteration; a symbolic dimension.
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((5,), f32)) {\n"
                     "  for i in parallel(5) { y[i] = x[i] }\n}"),
            "x[i], 0, 4 where i is 4, outside of 3");
  EXPECT_EQ(unproved("prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n"
                     "  for i in parallel(n) { y[i] = x[i - 1] }\n}"),
            "x[i - 1], 0, -1 where i is 0, outside of n - 1");
  EXPECT_EQ(unproved("prim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n"
                     "  for i in parallel(n) { y[i + 1] = x[i] }\n}"),
            "y[i + 1], 0, n where i is n - 1, outside of n - 1");
  // In a branch that is taken.
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                     "  for i in parallel(4) { y[i] = select(i < 2, x[i + 4], x[i]) }\n}"),
            "x[i + 4], 0, 4 to 5, outside of 3");
}

TEST(AccessBounds, IgnoresAccessesThatNeverRun) {
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                     "  for i in parallel(4) { y[i] = f32(0.0)\n"
                     "    if i < 0 { y[7] = x[i + 100] } }\n}"),
            "");
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                     "  for i in parallel(4) { y[i] = select(5 < i, x[i + 100], f32(0.0)) }\n"
                     "  for i in serial(0) { y[9] = f32(0.0) }\n}"),
            "");
  // Not certain: the guard may exclude the last iteration.
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((5,), f32), k: i64) {\n"
                     "  for i in parallel(5) { if i < k { y[i] = x[i] } }\n}"),
            "x[i], 0, 0 to 4 of 3");
}

TEST(AccessBounds, UsesGuardsOnData) {
  const std::string head =
      "prim def f(x: Buffer((n, 4), f32), at: Buffer((m,), i32), out y: Buffer((m,), f32), n: i64, "
      "m: i64) {\n  for i in parallel(m) { ";
  EXPECT_NE(unproved(head + "y[i] = x[cast(i64, at[i]), 0] }\n}"), "");
  EXPECT_EQ(unproved(head + "y[i] = let k: i64 = cast(i64, at[i]) in "
                            "select(0 <= k and k < n, x[k, 0], f32(0.0)) }\n}"),
            "");
  EXPECT_EQ(unproved(head + "y[i] = select(0 < n, x[max(0, min(cast(i64, at[i]), n - 1)), 3], "
                            "f32(0.0)) }\n}"),
            "");
  // Without rows there is nothing to clamp to.
  EXPECT_NE(unproved(head + "y[i] = x[max(0, min(cast(i64, at[i]), n - 1)), 3] }\n}"), "");
  EXPECT_EQ(unproved(head + "y[i] = f32(0.0)\n if i32(0) <= at[i] { if cast(i64, at[i]) < n { "
                            "y[i] = x[cast(i64, at[i]), 0] } } }\n}"),
            "");
}

// Data that may be written between the guard and the access proves nothing.
TEST(AccessBounds, DoesNotTrustChangingData) {
  EXPECT_NE(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
                     "  alloc k: Buffer((1,), i64, local)\n"
                     "  for i in serial(4) {\n    k[0] = i\n"
                     "    if 0 <= k[0] and k[0] < 4 { k[0] = k[0] + 100\n y[i] = x[k[0]] } }\n}"),
            "");
  EXPECT_NE(unproved("prim def f(x: Buffer((4,), f32), inout k: Buffer((4,), i64), out y: "
                     "Buffer((4,), f32)) {\n"
                     "  for i in parallel(4) {\n    y[i] = f32(0.0)\n"
                     "    if 0 <= k[0] and k[0] < 4 { y[i] = x[k[0]]\n } }\n}"),
            "");
}

// A copy or a fragment reaches to the end of its box.
TEST(AccessBounds, CoversBoxesOfCopiesAndFragments) {
  const auto copied = [](const std::string& from) {
    return unproved(
        "prim def f(x: Buffer((n, 16), f32), n: i64) {\n"
        "  for i in workgroup(n // 4) { alloc s: Buffer((4, 8), f32, shared)\n"
        "    for t in thread(2) { copy_async(s[0 +: 4, 0 +: 8], x[" +
        from + "]) } }\n}");
  };
  EXPECT_EQ(copied("i*4 +: 4, t*8 +: 8"), "");
  EXPECT_EQ(copied("i*4 + 1 +: 4, t*8 +: 8"), "x[i*4 + 1, t*8], 0, i*4 + 4, at least 4 of n - 1");
  EXPECT_EQ(copied("i*4 +: 4, t*8 + 1 +: 8"), "x[i*4, t*8 + 1], 1, 16 where t is 1, outside of 15");
  const auto loaded = [](const std::string& operands) {
    return unproved(
        "prim def f(x: Buffer((n, 20), f32), n: i64) {\n"
        "  for i in workgroup(n // 16) { for t in thread(32) {\n"
        "    alloc c: Buffer((16, 4), f32, fragment)\n"
        "    c = matrix_load(" +
        operands + ", 32) } }\n}");
  };
  EXPECT_EQ(loaded("x[i*16, 16], 20, row_major"), "");
  EXPECT_EQ(loaded("x[i*16, 4], 20, column_major"), "");
  EXPECT_EQ(loaded("x[i*16, 17], 20, row_major"), "x[i*16, 17], 1, 20, outside of 19");
  EXPECT_EQ(loaded("x[i*16 + 12, 5], 20, column_major"), "x[i*16 + 12, 5], 1, 20, outside of 19");
  // Rows that are not those of the buffer: within its memory.
  EXPECT_EQ(loaded("x[i*16, 0], 10, row_major"), "");
  EXPECT_NE(loaded("x[i*16, 0], 30, row_major"), "");
}

// A scalar that is not the dimension of a tensor may be negative, narrow arithmetic wraps, and
// division by zero is 0.
TEST(AccessBounds, AssumesNothingAboutScalars) {
  EXPECT_NE(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((1,), f32), k: i64) {\n"
                     "  y[0] = x[min(k, 3)]\n}"),
            "");
  EXPECT_EQ(unproved("prim def f(x: Buffer((4,), f32), out y: Buffer((1,), f32), k: i64) {\n"
                     "  y[0] = x[max(0, min(k, 3))]\n}"),
            "");
  EXPECT_NE(unproved("prim def f(x: Buffer((9,), f32), out y: Buffer((n,), f32), n: i64) {\n"
                     "  for i in parallel(n) { y[i] = x[n // n * 8 - 8 + 7 // i] }\n}"),
            "");
  EXPECT_NE(
      unproved("prim def f(x: Buffer((100,), f32), at: Buffer((4,), i32), out y: Buffer((4,), "
               "f32)) {\n  for i in parallel(4) { y[i] = select(i32(0) <= at[i], "
               "x[max(0, cast(i64, min(i32(99), at[i] * i32(65536) * i32(65536))))], "
               "f32(0.0)) }\n}"),
      "");
}

}  // namespace
}  // namespace tapml::analysis
