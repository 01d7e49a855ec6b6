// tensorize, and that each intrinsic computes what its description specifies.
#include <gtest/gtest.h>

#include "programs.h"
#include "schedule/primitives/tensor_intrinsics.h"

namespace tapml::testing {
namespace {

using schedule::Block;
using schedule::Schedule;

TEST(TensorIntrinsics, DoWhatTheyDescribe) {
  for (const schedule::TensorIntrinsic& intrinsic : schedule::tensor_intrinsics()) {
    SCOPED_TRACE(intrinsic.name);
    tir::PrimFuncRef description = schedule::parse_intrinsic(intrinsic.description);
    tir::PrimFuncRef implementation = schedule::parse_intrinsic(intrinsic.implementation);
    for (const tir::PrimFuncRef& func : {description, implementation}) {
      Module module;
      module.functions["f"] = func;
      EXPECT_TRUE(analysis::find_violations(module).empty());
    }
    expect_same_results(description, implementation, {{}});
    expect_same_results(description, implementation, {{}}, 1e-6, false);
  }
}

// The rows are whole tiles: n counts groups of four.
const char* const kTiledMatmul = R"(
prim def k(a: Buffer((n*4, 16), f32), b: Buffer((16, 32), f32), out c: Buffer((n*4, 32), f32), n: i64) {
  for i in serial(n*4) {
    for j in serial(32) {
      for k in serial(16) {
        block "matmul" (vi: spatial(n*4) = i, vj: spatial(32) = j, vk: reduce(16) = k) {
          init {
            c[vi, vj] = f32(0.0)
          }
          c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]
        }
      }
    }
  }
}
)";

TEST(Tensorize, FourRowsOfSixteenLanes) {
  tir::PrimFuncRef func = parse_program(kTiledMatmul);
  Schedule s(func);
  Block product = s.block("matmul");
  auto loops = s.loops(product);
  auto i = s.split(loops[0], {std::nullopt, 4});
  auto j = s.split(loops[1], {std::nullopt, 16});
  s.reorder({i[0], j[0], loops[2], i[1], j[1]});
  s.decompose_reduction(product, loops[2]);
  s.tensorize(i[1], "fma_4x16_f32");
  s.parallel(i[0]);
  expect_program(s.func(), R"(
prim def k(a: Buffer((n*4, 16), f32), b: Buffer((16, 32), f32), out c: Buffer((n*4, 32), f32), n: i64) {
  for i_0 in parallel(n) {
    for j_0 in serial(2) {
      for i_1 in serial(4) {
        for j_1 in serial(16) {
          block "matmul_init" (vi: spatial(n*4) = i_0*4 + i_1, vj: spatial(32) = j_0*16 + j_1) {
            writes c[vi, vj]
            c[vi, vj] = f32(0.0)
          }
        }
      }
      for k in serial(16) {
        block "matmul" (vi: spatial(n) = i_0, vj: spatial(2) = j_0, vk: reduce(16) = k) {
          reads a[0 +: n*4, vk], b[vk, 0 +: 32], c[0 +: n*4, 0 +: 32]
          writes c[0 +: n*4, 0 +: 32]
          for i in unrolled(4) {
            for j in vectorized(16) {
              c[vi*4 + i, vj*16 + j] = fma(a[vi*4 + i, vk], b[vk, vj*16 + j], c[vi*4 + i, vj*16 + j])
            }
          }
        }
      }
    }
  }
}
)");
  expect_good(s, func, {{{"n", 0}}, {{"n", 1}}, {{"n", 3}}});
  expect_same_results(func, s.func(), {{{"n", 2}}}, 1e-5, false);
}

TEST(Tensorize, DotProductsOfBytes) {
  tir::PrimFuncRef func = parse_program(R"(
prim def k(a: Buffer((n, 8), i8), b: Buffer((6, 8), i8), out c: Buffer((n, 6), i32), n: i64) {
  for i in serial(n) {
    for j in serial(6) {
      for k in serial(8) {
        block "dot" (vi: spatial(n) = i, vj: spatial(6) = j, vk: reduce(8) = k) {
          init {
            c[vi, vj] = i32(0)
          }
          c[vi, vj] = c[vi, vj] + cast(i32, a[vi, vk]) * cast(i32, b[vj, vk])
        }
      }
    }
  }
}
)");
  Schedule s(func);
  Block dot = s.block("dot");
  auto loops = s.loops(dot);
  auto k = s.split(loops[2], {std::nullopt, 4});
  s.decompose_reduction(dot, k[0]);
  s.tensorize(k[1], "dot_4_i8_i32");
  expect_good(s, func, {{{"n", 0}}, {{"n", 1}}, {{"n", 3}}});
}

TEST(Tensorize, Copies) {
  tir::PrimFuncRef func = parse_program(R"(
prim def k(x: Buffer((n, 32), f32), out y: Buffer((n, 32), f32), n: i64) {
  for i in serial(n) {
    for j in serial(32) {
      block "copy" (vi: spatial(n) = i, vj: spatial(32) = j) {
        y[vi, vj] = x[vi, vj]
      }
    }
  }
}
)");
  Schedule s(func);
  auto loops = s.loops(s.block("copy"));
  auto j = s.split(loops[1], {std::nullopt, 16});
  s.tensorize(j[1], "copy_16_f32");
  s.parallel(loops[0]);
  expect_good(s, func, {{{"n", 0}}, {{"n", 3}}});
}

TEST(Tensorize, Refuses) {
  Schedule s(parse_program(kTiledMatmul));
  Block product = s.block("matmul");
  auto loops = s.loops(product);
  expect_user_error([&] { s.tensorize(loops[0], "fma_2x2"); },
                    {"tensorize of loop i", "unknown intrinsic fma_2x2", "fma_4x16_f32"});
  expect_user_error([&] { s.tensorize(loops[0], "fma_4x16_f32"); },
                    {"its loops do not have the extents of fma_4x16_f32"});
  auto i = s.split(loops[0], {std::nullopt, 4});
  auto j = s.split(loops[1], {std::nullopt, 16});
  s.reorder({i[0], j[0], loops[2], i[1], j[1]});
  expect_user_error([&] { s.tensorize(i[1], "fma_4x16_f32"); },
                    {"block matmul sets its initial value inside", "decompose_reduction"});
  Schedule ragged(parse_program(kMatmul));
  Block rows = ragged.block("matmul");
  auto outer = ragged.loops(rows);
  auto ri = ragged.split(outer[0], {std::nullopt, 4});
  auto rj = ragged.split(outer[1], {std::nullopt, 16});
  ragged.reorder({ri[0], rj[0], outer[2], ri[1], rj[1]});
  expect_user_error([&] { ragged.tensorize(ri[1], "fma_4x16_f32"); },
                    {"has a predicate: tiles may be partial"});
  // The transposed matrix is read along the wrong dimension.
  Schedule transposed(parse_program(R"(
prim def k(a: Buffer((4, 8), f32), b: Buffer((16, 8), f32), inout c: Buffer((4, 16), f32)) {
  for k in serial(8) {
    for i in serial(4) {
      for j in serial(16) {
        block "matmul" (vi: spatial(4) = i, vj: spatial(16) = j, vk: reduce(8) = k) {
          c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vj, vk]
        }
      }
    }
  }
}
)"));
  auto tile = transposed.loops(transposed.block("matmul"));
  expect_user_error([&] { transposed.tensorize(tile[1], "fma_4x16_f32"); },
                    {"block matmul does not compute fma_4x16_f32", "of b does not run"});
}

}  // namespace
}  // namespace tapml::testing
