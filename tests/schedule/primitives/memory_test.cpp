// cache_read, cache_write, store_at and storage_align.
#include <gtest/gtest.h>

#include "programs.h"

namespace tapml::testing {
namespace {

using schedule::Block;
using schedule::Schedule;

const char* const kTranspose = R"(
prim def k(x: Buffer((n, 6), f32), out y: Buffer((6, n), f32), n: i64) {
  for i in serial(6) {
    for j in serial(n) {
      block "transpose" (vi: spatial(6) = i, vj: spatial(n) = j) {
        reads x[vj, vi]
        writes y[vi, vj]
        y[vi, vj] = x[vj, vi]
      }
    }
  }
}
)";

TEST(CacheRead, CopiesBeforeTheNest) {
  tir::PrimFuncRef func = parse_program(kTranspose);
  Schedule s(func);
  Block copy = s.cache_read(s.block("transpose"), "x");
  EXPECT_EQ(copy.name, "x_cache");
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, 6), f32), out y: Buffer((6, n), f32), n: i64) {
  alloc x_cache: Buffer((n, 6), f32)
  for i in serial(n) {
    for j in serial(6) {
      block "x_cache" (vi: spatial(n) = i, vj: spatial(6) = j) {
        reads x[vi, vj]
        writes x_cache[vi, vj]
        x_cache[vi, vj] = x[vi, vj]
      }
    }
  }
  for i in serial(6) {
    for j in serial(n) {
      block "transpose" (vi: spatial(6) = i, vj: spatial(n) = j) {
        reads x_cache[vj, vi]
        writes y[vi, vj]
        y[vi, vj] = x_cache[vj, vi]
      }
    }
  }
}
)");
  expect_good(s, func, kRows);
}

TEST(CacheRead, Refuses) {
  Schedule s(parse_program(kTranspose));
  Block block = s.block("transpose");
  expect_user_error([&] { s.cache_read(block, "z"); },
                    {"cache_read of block transpose", "it reads no buffer named z"});
  Schedule own(parse_program(R"(
prim def k(inout x: Buffer((8,), f32)) {
  for i in serial(4) {
    block "fold" (v: spatial(4) = i) {
      x[v] = x[v + 4]
    }
  }
}
)"));
  Block fold = own.block("fold");
  expect_user_error([&] { own.cache_read(fold, "x"); },
                    {"block fold writes x in the same nest", "would be stale"});
}

TEST(CacheWrite, CopiesAfterTheNest) {
  tir::PrimFuncRef func = parse_program(kSum);
  Schedule s(func);
  Block copy = s.cache_write(s.block("sum"));
  EXPECT_EQ(copy.name, "y_write");
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  alloc y_cache: Buffer((n,), f32)
  for i in serial(n) {
    for r in serial(m) {
      block "sum" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads y_cache[vi], x[vi, vr]
        writes y_cache[vi]
        init {
          y_cache[vi] = f32(0.5)
        }
        y_cache[vi] = y_cache[vi] + x[vi, vr]
      }
    }
  }
  for i in serial(n) {
    block "y_write" (vi: spatial(n) = i) {
      reads y_cache[vi]
      writes y[vi]
      y[vi] = y_cache[vi]
    }
  }
}
)");
  expect_good(s, func, {{{"n", 0}, {"m", 2}}, {{"n", 3}, {"m", 0}}, {{"n", 3}, {"m", 5}}});
}

TEST(CacheWrite, Refuses) {
  auto refuse = [](const std::string& body, const std::vector<std::string>& parts) {
    Schedule s(parse_program("prim def k(x: Buffer((8,), f32), inout y: Buffer((8,), f32)) {" +
                             body + "}"));
    Block block = s.block("b");
    expect_user_error([&] { s.cache_write(block); }, parts);
  };
  refuse("for i in serial(8) { block \"b\" (v: spatial(8) = i) { y[v] = y[v] + x[v] } }",
         {"cache_write of block b", "it updates values that y already holds"});
  refuse("for i in serial(4) { block \"b\" (v: spatial(4) = i) { y[v] = x[v] } }",
         {"it writes 4 of the 8 elements along dimension 0 of y"});
  refuse("for i in serial(4) { block \"b\" (v: spatial(8) = i) { y[v] = x[v] } }",
         {"iterator v does not provably take each value below 8 once"});
  refuse("for i in serial(8) { block \"b\" (v: spatial(8) = i) { y[7 - v] = x[v] } }",
         {"does not store to one element of its own iterators"});
  refuse("for i in serial(8) { if i < 5 { block \"b\" (v: spatial(8) = i) { y[v] = x[v] } } }",
         {"there is a condition around it"});
  refuse("for i in serial(8) { block \"b\" (v: spatial(8) = i) { where i < 6 y[v] = x[v] } }",
         {"its predicate excludes more than a tail"});
  refuse(
      "for i in serial(8) { block \"b\" (v: spatial(8) = i) { y[v] = x[v] } "
      "block \"c\" (v: spatial(8) = i) { y[v] = y[v] + x[v] } }",
      {"block c uses y in the same nest"});
}

// A tile of the product in local memory: the usual path to registers.
TEST(StoreAt, ATileOfAProduct) {
  tir::PrimFuncRef func = parse_program(kMatmul);
  Schedule s(func);
  Block product = s.block("matmul");
  auto loops = s.loops(product);
  auto i = s.split(loops[0], {std::nullopt, 4});
  auto j = s.split(loops[1], {std::nullopt, 16});
  s.reorder({i[0], j[0], loops[2], i[1], j[1]});
  s.reverse_compute_at(s.block("bias"), j[0]);
  s.parallel(i[0]);
  s.decompose_reduction(product, loops[2]);
  s.store_at(product, j[0], "local");
  s.vectorize(j[1]);
  s.unroll(i[1]);
  expect_program(s.func(), R"(
prim def k(a: Buffer((n, 16), f32), b: Buffer((16, 32), f32), bias: Buffer((32,), f32), out d: Buffer((n, 32), f32), n: i64) {
  for i_0 in parallel((n + 3)//4) {
    for j_0 in serial(2) {
      alloc c: Buffer((4, 16), f32, local)
      for i_1 in serial(4) {
        for j_1 in serial(16) {
          block "matmul_init" (vi: spatial(n) = i_0*4 + i_1, vj: spatial(32) = j_0*16 + j_1, ti: spatial((n + 3)//4) = i_0, tj: spatial(2) = j_0) {
            where i_0*4 + i_1 < n
            writes c[vi - ti*4, vj - tj*16]
            c[vi - ti*4, vj - tj*16] = f32(0.0)
          }
        }
      }
      for k in serial(16) {
        for i_1 in unrolled(4) {
          for j_1 in vectorized(16) {
            block "matmul" (vi: spatial(n) = i_0*4 + i_1, vj: spatial(32) = j_0*16 + j_1, vk: reduce(16) = k, ti: spatial((n + 3)//4) = i_0, tj: spatial(2) = j_0) {
              where i_0*4 + i_1 < n
              reads c[vi - ti*4, vj - tj*16], a[vi, vk], b[vk, vj]
              writes c[vi - ti*4, vj - tj*16]
              c[vi - ti*4, vj - tj*16] = c[vi - ti*4, vj - tj*16] + a[vi, vk]*b[vk, vj]
            }
          }
        }
      }
      for i in serial(4) {
        for j in serial(16) {
          block "bias" (vi: spatial(n) = i_0*4 + i, vj: spatial(32) = j_0*16 + j, ti: spatial((n + 3)//4) = i_0, tj: spatial(2) = j_0) {
            where i_0*4 + i < n
            reads c[vi - ti*4, vj - tj*16], bias[vj]
            writes d[vi, vj]
            d[vi, vj] = max(c[vi - ti*4, vj - tj*16] + bias[vj], f32(0.0))
          }
        }
      }
    }
  }
}
)");
  expect_good(s, func, kRows);
}

TEST(StoreAt, Refuses) {
  Schedule s(parse_program(kElementwise));
  Block add = s.block("add"), twice = s.block("twice");
  auto loops = s.loops(twice);
  expect_user_error([&] { s.store_at(twice, loops[0], "local"); },
                    {"store_at of block twice", "it writes the parameter z", "cache_write"});
  expect_user_error([&] { s.store_at(add, loops[0], "local"); },
                    {"block add uses t outside loop i", "compute_at"});
  expect_user_error([&] { s.store_at(add, loops[0], "register"); }, {"unknown scope register"});
  s.compute_at(add, loops[0]);
  s.store_at(add, loops[0], "local");
  expect_user_error([&] { s.store_at(add, loops[0], "local"); },
                    {"is already allocated inside the loop"});
}

TEST(StoreAt, RefusesRowsOfSymbolicLength) {
  tir::PrimFuncRef func = parse_program(R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n, m), f32), n: i64, m: i64) {
  alloc t: Buffer((n, m), f32)
  for i in serial(n) {
    for j in serial(m) {
      block "a" (vi: spatial(n) = i, vj: spatial(m) = j) {
        t[vi, vj] = x[vi, vj] + f32(1.0)
      }
    }
  }
  for i in serial(n) {
    for j in serial(m) {
      block "b" (vi: spatial(n) = i, vj: spatial(m) = j) {
        y[vi, vj] = t[vi, vj] * t[vi, vj]
      }
    }
  }
}
)");
  Schedule s(func);
  Block a = s.block("a");
  auto loops = s.loops(s.block("b"));
  s.compute_at(a, loops[0]);
  expect_user_error([&] { s.store_at(a, loops[0], "local"); },
                    {"touches m elements along dimension 1, which is not a constant number"});
  expect_good(s, func, {{{"n", 2}, {"m", 0}}, {{"n", 2}, {"m", 3}}});
}

TEST(StorageAlign, PadsTheRows) {
  tir::PrimFuncRef func = parse_program(kElementwise);
  Schedule s(func);
  s.storage_align(s.block("add"), 0, 8, 1);
  EXPECT_NE(text::print(*s.func(), "k").find("alloc t: Buffer((n, 17), f32)"), std::string::npos)
      << text::print(*s.func(), "k");
  expect_good(s, func, kRows);
}

TEST(StorageAlign, Refuses) {
  Schedule s(parse_program(kElementwise));
  Block add = s.block("add"), twice = s.block("twice");
  expect_user_error([&] { s.storage_align(twice, 0, 8, 0); },
                    {"it writes the parameter z, whose layout is the caller's"});
  expect_user_error([&] { s.storage_align(add, 1, 8, 0); }, {"has no stride to choose"});
  expect_user_error([&] { s.storage_align(add, -1, 8, 0); }, {"has no stride to choose"});
  expect_user_error([&] { s.storage_align(add, 0, 8, 8); }, {"is invalid"});
  expect_user_error([&] { s.storage_align(add, 0, 0, 0); }, {"is invalid"});
}

TEST(StorageAlign, RefusesRowsThatOverflow) {
  Schedule s(parse_program(R"(
prim def k(x: Buffer((n,), i8), out y: Buffer((n,), i8), n: i64) {
  alloc t: Buffer((1, 9223372036854775800), i8)
  for i in serial(n) {
    block "first" (v: spatial(n) = i) {
      t[0, v] = x[v]
    }
  }
  for i in serial(n) {
    block "second" (v: spatial(n) = i) {
      y[v] = t[0, v]
    }
  }
}
)"));
  expect_user_error([&] { s.storage_align(s.block("first"), 0, 16, 0); },
                    {"rows of 9223372036854775800 elements", "give a smaller factor"});
}

}  // namespace
}  // namespace tapml::testing
