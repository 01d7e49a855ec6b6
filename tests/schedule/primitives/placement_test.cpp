// compute_at, reverse_compute_at, inline and reverse_inline.
#include <gtest/gtest.h>

#include "programs.h"

namespace tapml::testing {
namespace {

using schedule::Block;
using schedule::Schedule;

const std::vector<Sizes> kWidths = {{{"h", 0}}, {{"h", 1}}, {{"h", 4}}, {{"h", 7}}, {{"h", 9}}};

// The window of 3 needs 6 elements for 4 results: the tiles overlap.
TEST(ComputeAt, TheElementsThatATileReads) {
  tir::PrimFuncRef func = parse_program(R"(
prim def k(x: Buffer((h + 2,), f32), out y: Buffer((h,), f32), h: i64) {
  alloc t: Buffer((h + 2,), f32)
  for i in serial(h + 2) {
    block "square" (v: spatial(h + 2) = i) {
      reads x[v]
      writes t[v]
      t[v] = x[v] * x[v]
    }
  }
  for i in serial(h) {
    block "window" (v: spatial(h) = i) {
      reads t[v], t[v + 1], t[v + 2]
      writes y[v]
      y[v] = t[v] + t[v + 1] + t[v + 2]
    }
  }
}
)");
  Schedule s(func);
  Block square = s.block("square"), window = s.block("window");
  auto loops = s.split(s.loops(window)[0], {std::nullopt, 4});
  s.compute_at(square, loops[0]);
  expect_program(s.func(), R"(
prim def k(x: Buffer((h + 2,), f32), out y: Buffer((h,), f32), h: i64) {
  alloc t: Buffer((h + 2,), f32)
  for i_0 in serial((h + 3)//4) {
    for i in serial(6) {
      block "square" (v: spatial(h + 2) = i_0*4 + i) {
        where i_0*4 + i < h + 2
        reads x[v]
        writes t[v]
        t[v] = x[v] * x[v]
      }
    }
    for i_1 in serial(4) {
      block "window" (v: spatial(h) = i_0*4 + i_1) {
        where i_0*4 + i_1 < h
        reads t[v], t[v + 1], t[v + 2]
        writes y[v]
        y[v] = t[v] + t[v + 1] + t[v + 2]
      }
    }
  }
}
)");
  // Neighboring tiles write the same elements of t: parallel only if each tile has its own t.
  expect_user_error([&] { s.parallel(loops[0]); },
                    {"block square writes elements of t that two iterations may share"});
  s.store_at(square, loops[0], "local");
  s.parallel(loops[0]);
  expect_good(s, func, kWidths);
}

TEST(ComputeAt, AReductionIntoItsConsumer) {
  tir::PrimFuncRef func = parse_program(kMatmul);
  Schedule s(func);
  Block product = s.block("matmul");
  auto loops = s.loops(s.block("bias"));
  s.compute_at(product, loops[1]);
  s.store_at(product, loops[1], "local");
  s.parallel(loops[0]);
  expect_good(s, func, kRows);
}

TEST(ComputeAt, PaddingIntoAConvolution) {
  tir::PrimFuncRef func = parse_program(kConv);
  Schedule s(func);
  Block conv = s.block("conv");
  auto loops = s.loops(conv);
  auto columns = s.split(loops[1], {std::nullopt, 4});
  s.reorder({columns[0], loops[0]});
  s.compute_at(s.block("pad"), columns[0]);
  s.store_at(s.block("pad"), columns[0], "local");
  s.parallel(columns[0]);
  expect_good(s, func, kWidths);
}

TEST(ComputeAt, RefusesIfReadersOutsideTheLoopNeedIt) {
  Schedule s(parse_program(kSoftmax));
  Block exp = s.block("exp"), total = s.block("total"), divide = s.block("divide");
  auto loops = s.loops(total);
  expect_user_error([&] { s.compute_at(exp, loops[0]); },
                    {"compute_at of block exp", "block divide reads e outside loop i",
                     "name a loop around all readers"});
  auto rows = s.loops(divide);
  expect_user_error([&] { s.compute_at(divide, loops[0]); },
                    {"does not write a single intermediate buffer", "cache_write"});
  expect_user_error([&] { s.compute_at(total, s.loops(exp)[0]); }, {"loop i comes before it"});
  s.compute_at(total, rows[0]);
  expect_user_error([&] { s.compute_at(total, rows[0]); }, {"it is in loop i already"});
  s.parallel(rows[0]);
}

TEST(ComputeAt, RefusesWhereItsInputChanges) {
  Schedule s(parse_program(R"(
prim def k(inout x: Buffer((8,), f32), out y: Buffer((8,), f32)) {
  alloc t: Buffer((8,), f32)
  for i in serial(8) {
    block "save" (v: spatial(8) = i) {
      t[v] = x[v]
    }
  }
  for i in serial(8) {
    block "change" (v: spatial(8) = i) {
      x[v] = f32(1.0)
    }
  }
  for i in serial(8) {
    block "use" (v: spatial(8) = i) {
      y[v] = t[v]
    }
  }
}
)"));
  Block save = s.block("save");
  auto loops = s.loops(s.block("use"));
  for (bool move : {true, false}) {
    expect_user_error([&] { move ? s.compute_at(save, loops[0]) : s.inline_block(save); },
                      {"block change writes x", "keep it where it is"});
  }
}

// The init of the product would come after another block in a reduction that may be empty.
TEST(ComputeAt, RefusesAReductionLoopThatMayBeEmpty) {
  Schedule s(parse_program(kAttention));
  Block weight = s.block("weight");
  s.inline_block(weight);
  Block score = s.block("score");
  auto mix = s.loops(s.block("mix"));
  expect_user_error([&] { s.compute_at(score, mix[0]); }, {"block top reads s outside loop i"});
}

TEST(ReverseComputeAt, AnEpilogueIntoItsTile) {
  tir::PrimFuncRef func = parse_program(kElementwise);
  Schedule s(func);
  auto loops = s.loops(s.block("add"));
  auto rows = s.split(loops[0], {std::nullopt, 4});
  s.reverse_compute_at(s.block("twice"), rows[0]);
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, 12), f32), y: Buffer((n, 12), f32), out z: Buffer((n, 12), f32), n: i64) {
  alloc t: Buffer((n, 12), f32)
  for i_0 in serial((n + 3)//4) {
    for i_1 in serial(4) {
      for j in serial(12) {
        block "add" (vi: spatial(n) = i_0*4 + i_1, vj: spatial(12) = j) {
          where i_0*4 + i_1 < n
          reads x[vi, vj], y[vi, vj]
          writes t[vi, vj]
          t[vi, vj] = x[vi, vj] + y[vi, vj]
        }
      }
    }
    for i in serial(4) {
      for j in serial(12) {
        block "twice" (vi: spatial(n) = i_0*4 + i, vj: spatial(12) = j) {
          where i_0*4 + i < n
          reads t[vi, vj]
          writes z[vi, vj]
          z[vi, vj] = t[vi, vj] * f32(2.0)
        }
      }
    }
  }
}
)");
  s.parallel(rows[0]);
  s.store_at(s.block("add"), rows[0], "local");
  expect_good(s, func, kRows);
}

TEST(ReverseComputeAt, Refuses) {
  Schedule s(parse_program(kMatmul));
  Block bias = s.block("bias"), product = s.block("matmul");
  auto loops = s.loops(product);
  expect_user_error([&] { s.reverse_compute_at(bias, loops[2]); },
                    {"reverse_compute_at of block bias",
                     "block matmul does not complete its elements in one iteration of loop k",
                     "name a loop outside the reduction"});
  expect_user_error([&] { s.reverse_compute_at(product, s.loops(bias)[0]); },
                    {"it is a reduction"});
  auto rows = s.split(loops[0], {std::nullopt, 4});
  s.reorder({rows[1], rows[0]});
  expect_user_error([&] { s.reverse_compute_at(bias, rows[1]); },
                    {"does not write a box of c", "reorder the loops"});
  s.reorder({loops[2], rows[0]});
  Schedule window(parse_program(R"(
prim def k(x: Buffer((10,), f32), out y: Buffer((8,), f32)) {
  alloc t: Buffer((10,), f32)
  for i in serial(10) {
    block "square" (v: spatial(10) = i) {
      t[v] = x[v] * x[v]
    }
  }
  for i in serial(8) {
    block "window" (v: spatial(8) = i) {
      y[v] = t[v] + t[v + 2]
    }
  }
}
)"));
  auto squares = window.loops(window.block("square"));
  Block last = window.block("window");
  expect_user_error([&] { window.reverse_compute_at(last, squares[0]); },
                    {"reads t at more than one plain element"});
  Schedule softmax(parse_program(kSoftmax));
  auto exps = softmax.loops(softmax.block("exp"));
  Block divide = softmax.block("divide");
  expect_user_error([&] { softmax.reverse_compute_at(divide, exps[0]); },
                    {"block total", "total", "which it uses"});
}

TEST(Inline, IntoAllReaders) {
  tir::PrimFuncRef func = parse_program(kElementwise);
  Schedule s(func);
  s.inline_block(s.block("add"));
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, 12), f32), y: Buffer((n, 12), f32), out z: Buffer((n, 12), f32), n: i64) {
  for i in serial(n) {
    for j in serial(12) {
      block "twice" (vi: spatial(n) = i, vj: spatial(12) = j) {
        reads x[vi, vj], y[vi, vj]
        writes z[vi, vj]
        z[vi, vj] = (x[vi, vj] + y[vi, vj]) * f32(2.0)
      }
    }
  }
}
)");
  expect_good(s, func, kRows);
}

TEST(Inline, PaddingIntoAConvolution) {
  tir::PrimFuncRef func = parse_program(kConv);
  Schedule s(func);
  s.inline_block(s.block("pad"));
  expect_good(s, func, kWidths);
}

TEST(Inline, LetsGetVariablesOfTheirOwn) {
  tir::PrimFuncRef func = parse_program(R"(
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  alloc t: Buffer((n,), f32)
  for i in serial(n) {
    block "a" (v: spatial(n) = i) {
      t[v] = let e: f32 = x[v] + f32(1.0) in e * e
    }
  }
  for i in serial(n) {
    block "b" (v: spatial(n) = i) {
      y[v] = t[v] + t[n - 1 - v]
    }
  }
}
)");
  Schedule s(func);
  s.inline_block(s.block("a"));
  expect_good(s, func, kRows);
}

TEST(Inline, Refuses) {
  Schedule s(parse_program(kMatmul));
  Block product = s.block("matmul"), bias = s.block("bias");
  expect_user_error([&] { s.inline_block(product); },
                    {"inline of block matmul", "without reduction", "elementwise"});
  expect_user_error([&] { s.inline_block(bias); }, {"it writes the parameter d"});
  // Readers of a padded buffer may read elements that were never written.
  Schedule padded(parse_program(kElementwise));
  Block add = padded.block("add");
  padded.storage_align(add, 0, 8, 0);
  expect_user_error([&] { padded.inline_block(add); }, {"does not provably write all of t"});
  std::string chain = "prim def k(t0: Buffer((8,), f32), out t20: Buffer((8,), f32)) {\n", body;
  for (int i = 1; i <= 20; ++i) {
    std::string from = "t" + std::to_string(i - 1), to = "t" + std::to_string(i);
    if (i < 20) chain += "alloc " + to + ": Buffer((8,), f32)\n";
    body += "for i in serial(8) { block \"b" + std::to_string(i) + "\" (v: spatial(8) = i) { " +
            to + "[v] = " + from + "[v] * (" + from + "[v] + f32(1.0)) } }\n";
  }
  Schedule doubling(parse_program(chain + body + "}"));
  expect_user_error(
      [&] {
        for (int i = 1; i < 20; ++i) doubling.inline_block(doubling.block("b" + std::to_string(i)));
      },
      {"would be duplicated too often"});
}

TEST(ReverseInline, TheProducerStoresTheResult) {
  tir::PrimFuncRef func = parse_program(kElementwise);
  Schedule s(func);
  s.reverse_inline(s.block("twice"));
  expect_program(s.func(), R"(
prim def k(x: Buffer((n, 12), f32), y: Buffer((n, 12), f32), out z: Buffer((n, 12), f32), n: i64) {
  for i in serial(n) {
    for j in serial(12) {
      block "add" (vi: spatial(n) = i, vj: spatial(12) = j) {
        reads x[vi, vj], y[vi, vj]
        writes z[vi, vj]
        z[vi, vj] = (x[vi, vj] + y[vi, vj]) * f32(2.0)
      }
    }
  }
}
)");
  expect_good(s, func, kRows);
}

TEST(ReverseInline, Refuses) {
  Schedule s(parse_program(kMatmul));
  Block bias = s.block("bias");
  expect_user_error([&] { s.reverse_inline(bias); },
                    {"reverse_inline of block bias", "block matmul is a reduction or not pointwise",
                     "reverse_compute_at"});
  Schedule half(parse_program(R"(
prim def k(x: Buffer((8,), f32), out y: Buffer((4,), f32)) {
  alloc t: Buffer((8,), f32)
  for i in serial(8) {
    block "a" (v: spatial(8) = i) {
      t[v] = x[v]
    }
  }
  for i in serial(4) {
    block "b" (v: spatial(4) = i) {
      y[v] = t[v]
    }
  }
}
)"));
  Block b = half.block("b");
  expect_user_error([&] { half.reverse_inline(b); }, {"it reads 4 of the 8 elements"});
}

}  // namespace
}  // namespace tapml::testing
