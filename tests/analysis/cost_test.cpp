#include "analysis/cost.h"

#include <gtest/gtest.h>

#include "text/parser.h"
#include "text/printer.h"

namespace tapml::analysis {
namespace {

Cost cost_of_text(const std::string& text) {
  const Module module = text::parse(text, "test");
  return cost_of(*tir::as_prim_func(module.functions.begin()->second.get()));
}

TEST(Cost, MatmulCountsTwoPerStep) {
  Cost cost = cost_of_text(
      R"(prim def f(a: Buffer((n, 8), f32), w: Buffer((8, 4), bf16), out y: Buffer((n, 4), f32),
                    n: i64) {
           for i in serial(n) { for j in serial(4) { for r in serial(8) {
             block "matmul" (vi: spatial(n) = i, vj: spatial(4) = j, vr: reduce(8) = r) {
               init { y[vi, vj] = f32(0) }
               y[vi, vj] = y[vi, vj] + a[vi, vr]*cast(f32, w[vr, vj]) } } } } })");
  EXPECT_EQ(text::print(cost.flops), "n*64");
  EXPECT_EQ(text::print(cost.bytes), "n*48 + 64");
  EXPECT_TRUE(cost.exact);
}

TEST(Cost, TriangularLoopsCountToTheirLargestExtent) {
  Cost cost = cost_of_text(
      R"(prim def f(inout a: Buffer((n,), f32), n: i64) {
           for i in serial(n) { for j in serial(i + 1) { a[i] = exp(a[i]) + a[j] } } })");
  EXPECT_EQ(text::print(cost.flops), "n*n*2");
  EXPECT_EQ(text::print(cost.bytes), "n*8");
}

TEST(Cost, ExtentsFromMemoryAreNotExact) {
  Cost cost = cost_of_text(
      R"(prim def f(k: Buffer((1,), i64), out a: Buffer((), f32)) {
           a[] = f32(0)
           for i in serial(k[0]) { a[] = a[] + f32(1) } })");
  EXPECT_FALSE(cost.exact);
  EXPECT_EQ(text::print(cost.flops), "1");
  EXPECT_EQ(text::print(cost.bytes), "12");
}

TEST(Cost, AGatherReadsOnlyTheRowsItTakes) {
  Cost cost = cost_of_text(
      R"(prim def f(table: Buffer((1000, 8), f32), rows: Buffer((n,), i32),
                    out y: Buffer((n, 8), f32), n: i64) {
           for i in serial(n) { for j in serial(8) {
             block "take" (vi: spatial(n) = i, vj: spatial(8) = j) {
               y[vi, vj] = select(rows[vi] < i32(1000),
                                  table[cast(i64, rows[vi]), vj], f32(0)) } } } })");
  EXPECT_EQ(text::print(cost.bytes), "n*36 + min(n, 1000)*32");
  EXPECT_TRUE(cost.exact) << "every row is computed";
}

TEST(Cost, AnUpdateCountsOnlyTheElementsItWrites) {
  Cost cost = cost_of_text(
      R"(prim def f(inout pool: Buffer((100, 8), f32), new: Buffer((2, 8), f32),
                    at: Buffer((2,), i32)) {
           for i in serial(2) { for j in serial(8) {
             pool[cast(i64, at[i]), j] = new[i, j] } } })");
  EXPECT_EQ(text::print(cost.bytes), std::to_string(2 * (32 + 32 + 4)));
  EXPECT_TRUE(cost.exact);
}

TEST(Cost, OverlappingElementsAreReadOnce) {
  Cost cost = cost_of_text(
      R"(prim def f(x: Buffer((10,), f32), out y: Buffer((10,), f32)) {
           for i in serial(10) {
             y[i] = x[max(i - 1, 0)] + x[i]*x[i] + x[min(i + 1, 9)] } })");
  EXPECT_EQ(text::print(cost.bytes), std::to_string(10 * (4 + 4)));
}

TEST(Cost, ASliceOfATensor) {
  Cost cost = cost_of_text(
      R"(prim def f(x: Buffer((3, 16), f32), out y: Buffer((3, 4), f32)) {
           for i in serial(3) { for j in serial(4) {
             y[i, j] = let k: i64 = j*4 in x[i, k] } } })");
  EXPECT_EQ(text::print(cost.bytes), std::to_string(3 * (16 + 16)));
}

// The product counts once for the 32 threads that compute it together: 2 * 16^3 operations.
TEST(Cost, ThreadsShareAMatrixOperation) {
  Cost cost = cost_of_text(
      R"(prim def f(x: Buffer((16, 16), f16), w: Buffer((16, 16), f16), out y: Buffer((16, 16), f32)) {
           for g in workgroup(1) {
             alloc s: Buffer((16, 16), f16, shared)
             for t in thread(32) {
               alloc a: Buffer((16, 16), f16, fragment)
               alloc b: Buffer((16, 16), f16, fragment)
               alloc c: Buffer((16, 16), f32, fragment)
               copy_async(s[t//2, t%2*8 +: 8], w[t//2, t%2*8 +: 8])
               commit_copies()
               wait_copies(0)
               barrier
               a = matrix_load(x[0, 0], 16, row_major, 32)
               b = matrix_load(s[0, 0], 16, row_major, 32)
               c = matrix_fill(f32(0.0), 32)
               c = matrix_multiply_add(a, b, c, 32)
               y[0, 0] = matrix_store(c, 16, row_major, 32)
             } } })");
  EXPECT_EQ(text::print(cost.flops), std::to_string(2 * 16 * 16 * 16));
  EXPECT_EQ(text::print(cost.bytes), std::to_string(16 * 16 * (2 + 2 + 4)));
  EXPECT_TRUE(cost.exact);
}

TEST(Cost, MasksByDataAreNotExact) {
  auto masked = [](const std::string& condition) {
    return cost_of_text(R"(prim def f(x: Buffer((n,), f32), length: Buffer((), i64),
                                      out y: Buffer((n,), f32), n: i64) {
                             for i in serial(n) { y[i] = select()" +
                        condition + ", x[i], f32(0)) } }")
        .exact;
  };
  EXPECT_FALSE(masked("i < length[]"));
  EXPECT_TRUE(masked("i < n - 1"));
  EXPECT_TRUE(masked("f32(0) < x[i]"));
}

}  // namespace
}  // namespace tapml::analysis
