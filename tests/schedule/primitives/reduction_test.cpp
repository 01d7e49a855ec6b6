// rfactor and decompose_reduction.
#include <gtest/gtest.h>

#include "programs.h"

namespace tapml::testing {
namespace {

using schedule::Block;
using schedule::Schedule;

TEST(DecomposeReduction, InitInLoopsOfItsOwn) {
  tir::PrimFuncRef func = parse_program(kSum);
  Schedule s(func);
  Block sum = s.block("sum");
  auto loops = s.loops(sum);
  Block init = s.decompose_reduction(sum, loops[0]);
  EXPECT_EQ(init.name, "sum_init");
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  for i in serial(n) {
    block "sum_init" (vi: spatial(n) = i) {
      writes y[vi]
      y[vi] = f32(0.5)
    }
  }
  for i in serial(n) {
    for r in serial(m) {
      block "sum" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads y[vi], x[vi, vr]
        writes y[vi]
        y[vi] = y[vi] + x[vi, vr]
      }
    }
  }
}
)");
  expect_good(s, func, kBoth);
}

TEST(DecomposeReduction, KeepsThePredicatesOfPoints) {
  tir::PrimFuncRef func = parse_program(kMatmul);
  Schedule s(func);
  Block product = s.block("matmul");
  auto loops = s.loops(product);
  auto rows = s.split(loops[0], {std::nullopt, 4});
  auto steps = s.split(loops[2], {std::nullopt, 5});
  s.reorder({rows[0], steps[0], rows[1]});
  s.decompose_reduction(product, steps[0]);
  expect_good(s, func, {{{"n", 0}}, {{"n", 1}}, {{"n", 5}}});
}

TEST(DecomposeReduction, Refuses) {
  Schedule s(parse_program(kMatmul));
  Block product = s.block("matmul"), bias = s.block("bias");
  auto loops = s.loops(product);
  auto points = s.loops(bias);
  expect_user_error([&] { s.decompose_reduction(bias, points[0]); },
                    {"decompose_reduction of block bias", "it has no init"});
  expect_user_error([&] { s.decompose_reduction(product, points[0]); }, {"it is not in loop i"});
  s.reorder({loops[0], loops[2], loops[1]});
  expect_user_error([&] { s.decompose_reduction(product, loops[1]); },
                    {"its reduction loop k is around loop j"});
  s.decompose_reduction(product, loops[2]);
  expect_user_error([&] { s.decompose_reduction(product, loops[2]); }, {"it has no init"});
  Schedule sum(parse_program(R"(
prim def k(x: Buffer((4, 4), f32), out y: Buffer((4,), f32)) {
  for i in serial(4) {
    for r in serial(4) {
      block "sum" (vi: spatial(4) = i, vr: reduce(4) = r) {
        init {
          y[vi] = f32(0.0)
        }
        y[vi] = y[vi] + x[vi, vr]
      }
    }
  }
}
)"));
  Block mixed = sum.block("sum");
  auto both = sum.loops(mixed);
  auto fused = sum.fuse(both[0], both[1]);
  expect_user_error([&] { sum.decompose_reduction(mixed, fused); },
                    {"loop i_r runs over points and over the reduction at once"});
}

TEST(RFactor, PartialResultsOfEachLane) {
  tir::PrimFuncRef func = parse_program(kSum);
  Schedule s(func);
  Block sum = s.block("sum");
  auto loops = s.loops(sum);
  s.decompose_reduction(sum, loops[0]);
  auto steps = s.split(loops[1], {std::nullopt, 4});
  Block partial = s.rfactor(sum, steps[1]);
  EXPECT_EQ(partial.name, "sum_rf");
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  alloc y_rf: Buffer((4, n), f32)
  for i in serial(n) {
    block "sum_init" (vi: spatial(n) = i) {
      writes y[vi]
      y[vi] = f32(0.5)
    }
  }
  for i in serial(4) {
    for j in serial(n) {
      block "sum_rf_init" (vi: spatial(4) = i, vj: spatial(n) = j) {
        writes y_rf[vi, vj]
        y_rf[vi, vj] = f32(0.0)
      }
    }
  }
  for i in serial(n) {
    for r_0 in serial((m + 3)//4) {
      for r_1 in serial(4) {
        block "sum_rf" (vr_0: reduce((m + 3)//4) = r_0, vr_1: spatial(4) = r_1, vi: spatial(n) = i) {
          where r_0*4 + r_1 < m
          reads y_rf[vr_1, vi], x[vi, vr_0*4 + vr_1]
          writes y_rf[vr_1, vi]
          y_rf[vr_1, vi] = y_rf[vr_1, vi] + x[vi, vr_0*4 + vr_1]
        }
      }
    }
  }
  for i in serial(n) {
    for l in serial(4) {
      block "sum" (vi: spatial(n) = i, vl: reduce(4) = l) {
        reads y[vi], y_rf[vl, vi]
        writes y[vi]
        y[vi] = y[vi] + y_rf[vl, vi]
      }
    }
  }
}
)");
  s.vectorize(steps[1]);
  s.parallel(loops[0]);
  expect_good(s, func, kBoth);
  expect_good(s, func, kBoth, 1e-5, false);
}

TEST(RFactor, MaximaProductsAndOtherTypes) {
  for (const char* update : {"max(y[vi], x[vi, vr])", "min(x[vi, vr], y[vi])", "y[vi] * x[vi, vr]",
                             "y[vi] + x[vi, vr]"}) {
    for (const char* dtype : {"f32", "i32", "i8", "u8", "f64"}) {
      tir::PrimFuncRef func =
          parse_program(std::string("prim def k(x: Buffer((n, 6), ") + dtype +
                        "), inout y: Buffer((n,), " + dtype +
                        "), n: i64) { for i in serial(n) { for r in serial(6) { "
                        "block \"b\" (vi: spatial(n) = i, vr: reduce(6) = r) { y[vi] = " +
                        update + " } } } }");
      SCOPED_TRACE(std::string(update) + " of " + dtype);
      Schedule s(func);
      Block b = s.block("b");
      auto loops = s.loops(b);
      auto steps = s.split(loops[1], {2, std::nullopt});
      s.rfactor(b, steps[0]);
      expect_good(s, func, {{{"n", 0}}, {{"n", 3}}});
    }
  }
}

TEST(RFactor, Refuses) {
  Schedule s(parse_program(kMatmul));
  Block product = s.block("matmul"), bias = s.block("bias");
  auto loops = s.loops(product);
  auto points = s.loops(bias);
  expect_user_error([&] { s.rfactor(product, loops[0]); },
                    {"rfactor of block matmul", "loop i is not one of its reduction loops"});
  expect_user_error([&] { s.rfactor(bias, points[0]); }, {"op(out[...], term)"});
  s.reverse_compute_at(bias, loops[1]);
  expect_user_error([&] { s.rfactor(product, loops[2]); }, {"its nest contains other blocks"});
  Schedule recurrence(parse_program(R"(
prim def k(x: Buffer((4, 4), f32), out y: Buffer((4,), f32)) {
  for i in serial(4) {
    for r in serial(4) {
      block "b" (vi: spatial(4) = i, vr: reduce(4) = r) {
        init {
          y[vi] = f32(0.0)
        }
        y[vi] = y[vi] * f32(0.5) + x[vi, vr]
      }
    }
  }
}
)"));
  Block b = recurrence.block("b");
  auto steps = recurrence.loops(b);
  expect_user_error([&] { recurrence.rfactor(b, steps[1]); },
                    {"an operation that may be reordered"});
}

}  // namespace
}  // namespace tapml::testing
