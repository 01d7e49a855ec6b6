// split, fuse, reorder, parallel, vectorize, unroll and bind: text before and after, near misses.
#include <gtest/gtest.h>

#include <limits>

#include "programs.h"

namespace tapml::testing {
namespace {

using schedule::Loop;
using schedule::Schedule;

const std::vector<Sizes> kRowsAroundEight = {
    {{"n", 0}}, {{"n", 1}}, {{"n", 7}}, {{"n", 8}}, {{"n", 9}}};

const char* const kDouble = R"(
prim def k(x: Buffer((n, 12), f32), out y: Buffer((n, 12), f32), n: i64) {
  for i in serial(n) {
    for j in serial(12) {
      block "double" (vi: spatial(n) = i, vj: spatial(12) = j) {
        reads x[vi, vj]
        writes y[vi, vj]
        y[vi, vj] = x[vi, vj] + x[vi, vj]
      }
    }
  }
}
)";

struct Start {
  explicit Start(const char* source, const std::string& block)
      : func(parse_program(source)), schedule(func), loops(schedule.loops(schedule.block(block))) {}
  tir::PrimFuncRef func;
  Schedule schedule;
  std::vector<Loop> loops;
};

TEST(Split, GuardsThePartBeyondTheExtent) {
  Start start(kDouble, "double");
  start.schedule.split(start.loops[0], {std::nullopt, 4});
  start.schedule.split(start.loops[1], {3, std::nullopt});
  expect_program(start.schedule.func(), R"(
prim def k(x: Buffer((n, 12), f32), out y: Buffer((n, 12), f32), n: i64) {
  for i_0 in serial((n + 3)//4) {
    for i_1 in serial(4) {
      for j_0 in serial(3) {
        for j_1 in serial(4) {
          block "double" (vi: spatial(n) = i_0*4 + i_1, vj: spatial(12) = j_0*4 + j_1) {
            where i_0*4 + i_1 < n
            reads x[vi, vj]
            writes y[vi, vj]
            y[vi, vj] = x[vi, vj] + x[vi, vj]
          }
        }
      }
    }
  }
}
)");
  expect_good(start.schedule, start.func, kRowsAroundEight);
}

TEST(Split, AllFactorsGiven) {
  Start start(kDouble, "double");
  auto loops = start.schedule.split(start.loops[1], {2, 2, 4});
  EXPECT_EQ(loops.size(), 3u);
  expect_good(start.schedule, start.func, kRowsAroundEight);
}

TEST(Split, GuardsStatementsOutsideBlocks) {
  const char* source = R"(
prim def k(x: Buffer((n,), f32), at: Buffer((n,), i64), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) {
    block "gather" (v: spatial(n) = i, w: spatial(n) = at[i]) {
      y[v] = x[w]
    }
  }
}
)";
  Start start(source, "gather");
  start.schedule.split(start.loops[0], {std::nullopt, 4});
  expect_program(start.schedule.func(), R"(
prim def k(x: Buffer((n,), f32), at: Buffer((n,), i64), out y: Buffer((n,), f32), n: i64) {
  for i_0 in serial((n + 3)//4) {
    for i_1 in serial(4) {
      if i_0*4 + i_1 < n {
        block "gather" (v: spatial(n) = i_0*4 + i_1, w: spatial(n) = at[i_0*4 + i_1]) {
          y[v] = x[w]
        }
      }
    }
  }
}
)");
}

TEST(Split, Refuses) {
  Start start(kDouble, "double");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.split(start.loops[1], {std::nullopt, std::nullopt}); },
                    {"split of loop j", "more than one factor is absent", "give all but one"});
  expect_user_error([&] { s.split(start.loops[1], {2, 5}); },
                    {"product 10 does not provably reach its extent 12", "leave one factor out"});
  expect_user_error([&] { s.split(start.loops[0], {8, 8}); },
                    {"product 64 does not provably reach its extent n"});
  expect_user_error([&] { s.split(start.loops[0], {std::nullopt, 0}); }, {"out of range"});
  expect_user_error([&] { s.split(start.loops[0], {int64_t{1} << 40, int64_t{1} << 40}); },
                    {"out of range"});
  expect_user_error([&] { s.split(start.loops[0], {4}); }, {"two factors or more"});
  s.parallel(start.loops[0]);
  expect_user_error([&] { s.split(start.loops[0], {std::nullopt, 4}); },
                    {"it is parallel", "split it before it is marked"});
  expect_program(s.func(), text::print(*s.func(), "k"));
}

// The extent rounded up to whole factors must fit an index: (n + f - 1)//f * f for all possible n.
TEST(Split, RefusesFactorsWhoseIndicesOverflow) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  Start start(kDouble, "double");
  Schedule& s = start.schedule;
  for (const schedule::Factors& factors :
       {schedule::Factors{std::nullopt, kLargest}, schedule::Factors{kLargest, std::nullopt},
        schedule::Factors{std::nullopt, int64_t{1} << 32, (int64_t{1} << 30) + 1}}) {
    expect_user_error([&] { s.split(start.loops[0], factors); },
                      {"split of loop i", "makes indices of i64 overflow",
                       "whose product is at most 4611686018427387904"});
  }
  expect_user_error([&] { s.split(start.loops[1], {std::nullopt, kLargest - 10}); },
                    {"the extent 12 is rounded up", "at most 9223372036854775796"});
  // The largest valid factors.
  Schedule(s).split(start.loops[0], {std::nullopt, int64_t{1} << 62});
  Schedule(s).split(start.loops[1], {std::nullopt, kLargest - 11});
}

TEST(Split, NarrowIndicesOverflowEarly) {
  Start start(R"(
prim def k(x: Buffer((100,), f32), out y: Buffer((100,), f32)) {
  for i: i8 in serial(i8(100)) {
    block "copy" (v: spatial(100) = cast(i64, i)) {
      y[v] = x[v]
    }
  }
}
)",
              "copy");
  expect_user_error([&] { start.schedule.split(start.loops[0], {std::nullopt, 32}); },
                    {"indices of i8 overflow", "at most 28"});
  start.schedule.split(start.loops[0], {std::nullopt, 16});
  expect_good(start.schedule, start.func, {{}});
}

// The init would be lost if the reduction runs zero steps.
TEST(Split, RefusesAReductionThatMayBeEmpty) {
  Start start(kSum, "sum");
  expect_user_error(
      [&] { start.schedule.split(start.loops[1], {std::nullopt, 4}); },
      {"split of loop r", "may run zero iterations", "decompose_reduction to block sum"});
  start.schedule.decompose_reduction(start.schedule.block("sum"), start.loops[1]);
  start.schedule.split(start.loops[1], {std::nullopt, 4});
  expect_good(start.schedule, start.func, kBoth);
}

TEST(Fuse, OneLoopOfBoth) {
  Start start(kDouble, "double");
  start.schedule.fuse(start.loops[0], start.loops[1]);
  expect_program(start.schedule.func(), R"(
prim def k(x: Buffer((n, 12), f32), out y: Buffer((n, 12), f32), n: i64) {
  for i_j in serial(n*12) {
    block "double" (vi: spatial(n) = i_j//12, vj: spatial(12) = i_j%12) {
      reads x[vi, vj]
      writes y[vi, vj]
      y[vi, vj] = x[vi, vj] + x[vi, vj]
    }
  }
}
)");
  expect_good(start.schedule, start.func, kRowsAroundEight);
}

TEST(Fuse, ThenParallelAndSplit) {
  Start start(kDouble, "double");
  Loop fused = start.schedule.fuse(start.loops[0], start.loops[1]);
  auto loops = start.schedule.split(fused, {std::nullopt, 5});
  start.schedule.parallel(loops[0]);
  start.schedule.vectorize(loops[1]);
  expect_good(start.schedule, start.func, kRowsAroundEight);
}

TEST(Fuse, RefusesAProductThatDoesNotFitAnIndex) {
  const char* const nest = R"(
prim def k(x: Buffer((65536,), f32), out y: Buffer((65536,), f32)) {
  for i: TYPE in serial(TYPE(ROWS)) {
    for j: TYPE in serial(TYPE(COLUMNS)) {
      block "copy" (vi: spatial(65536) = cast(i64, i), vj: spatial(65536) = cast(i64, j)) {
        y[vi] = x[vj]
      }
    }
  }
}
)";
  auto fuse = [&](const std::string& type, const std::string& rows, const std::string& columns) {
    std::string source = nest;
    for (const auto& [word, with] :
         {std::pair{"TYPE", type}, std::pair{"ROWS", rows}, std::pair{"COLUMNS", columns}}) {
      for (size_t at; (at = source.find(word)) != std::string::npos;) {
        source.replace(at, std::string(word).size(), with);
      }
    }
    Start start(source.c_str(), "copy");
    start.schedule.fuse(start.loops[0], start.loops[1]);
  };
  fuse("i32", "32768", "65535");
  expect_user_error([&] { fuse("i32", "65536", "32768"); },
                    {"fuse of loops i and j", "does not provably fit i32"});
  expect_user_error([&] { fuse("i64", "4294967296", "2147483648"); },
                    {"does not provably fit i64"});
}

TEST(Fuse, Refuses) {
  Start start(kMatmul, "matmul");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.fuse(start.loops[0], start.loops[2]); },
                    {"fuse of loops i and k", "not the whole body of the first"});
  expect_user_error([&] { s.fuse(start.loops[1], start.loops[0]); },
                    {"not the whole body of the first"});
  s.parallel(start.loops[0]);
  expect_user_error([&] { s.fuse(start.loops[0], start.loops[1]); }, {"loop i is parallel"});
  Start triangle(R"(
prim def k(x: Buffer((8, 8), f32), inout y: Buffer((8, 8), f32)) {
  for i in serial(8) {
    for j in serial(i + 1) {
      block "low" (vi: spatial(8) = i, vj: spatial(8) = j) {
        y[vi, vj] = x[vi, vj]
      }
    }
  }
}
)",
                 "low");
  expect_user_error([&] { triangle.schedule.fuse(triangle.loops[0], triangle.loops[1]); },
                    {"the extent i + 1 uses i"});
  expect_user_error([&] { triangle.schedule.reorder({triangle.loops[1], triangle.loops[0]}); },
                    {"the extent of j uses i", "keep i outside"});
}

TEST(Reorder, OuterAndInnerLoops) {
  Start start(kMatmul, "matmul");
  start.schedule.reorder({start.loops[2], start.loops[0]});
  expect_program(start.schedule.func(), R"(
prim def k(a: Buffer((n, 16), f32), b: Buffer((16, 32), f32), bias: Buffer((32,), f32), out d: Buffer((n, 32), f32), n: i64) {
  alloc c: Buffer((n, 32), f32)
  for k in serial(16) {
    for j in serial(32) {
      for i in serial(n) {
        block "matmul" (vi: spatial(n) = i, vj: spatial(32) = j, vk: reduce(16) = k) {
          reads c[vi, vj], a[vi, vk], b[vk, vj]
          writes c[vi, vj]
          init {
            c[vi, vj] = f32(0.0)
          }
          c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]
        }
      }
    }
  }
  for i in serial(n) {
    for j in serial(32) {
      block "bias" (vi: spatial(n) = i, vj: spatial(32) = j) {
        reads c[vi, vj], bias[vj]
        writes d[vi, vj]
        d[vi, vj] = max(c[vi, vj] + bias[vj], f32(0.0))
      }
    }
  }
}
)");
  expect_good(start.schedule, start.func, kRowsAroundEight);
}

// y[i] depends on y[i - 1]: the order of neither loop may change.
const char* const kScan = R"(
prim def k(x: Buffer((4, 8), f32), inout y: Buffer((4, 8), f32)) {
  for i in serial(3) {
    for j in serial(7) {
      block "scan" (vi: spatial(3) = i, vj: spatial(7) = j) {
        y[vi + 1, vj] = y[vi, vj + 1] + x[vi, vj]
      }
    }
  }
}
)";

TEST(Reorder, Refuses) {
  Start scan(kScan, "scan");
  expect_user_error(
      [&] { scan.schedule.reorder({scan.loops[1], scan.loops[0]}); },
      {"reorder of loops j, i", "depend", "writes elements of y", "keep their order"});
  Start start(kMatmul, "matmul");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.reorder({start.loops[0]}); }, {"two loops or more"});
  expect_user_error([&] { s.reorder({start.loops[0], start.loops[0]}); }, {"named twice"});
  auto bias = s.loops(s.block("bias"));
  expect_user_error([&] { s.reorder({start.loops[0], bias[1]}); }, {"not loops of one nest"});
}

// Two loops of a sum may be swapped, those of a recurrence may not.
TEST(Reorder, ReductionsWhoseOrderIsFree) {
  auto source = [](const std::string& update) {
    return R"(
prim def k(x: Buffer((n, 4, 6), f32), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) {
    for r in serial(4) {
      for s in serial(6) {
        block "b" (vi: spatial(n) = i, vr: reduce(4) = r, vs: reduce(6) = s) {
          init {
            y[vi] = f32(1.0)
          }
          y[vi] = )" +
           update + R"(
        }
      }
    }
  }
}
)";
  };
  Start sum(source("y[vi] + x[vi, vr, vs]").c_str(), "b");
  sum.schedule.reorder({sum.loops[2], sum.loops[1]});
  expect_good(sum.schedule, sum.func, kRowsAroundEight);
  Start recurrence(source("y[vi] * f32(0.5) + x[vi, vr, vs]").c_str(), "b");
  expect_user_error(
      [&] { recurrence.schedule.reorder({recurrence.loops[2], recurrence.loops[1]}); },
      {"block b reduces over it"});
}

TEST(Parallel, MarksAndRefuses) {
  Start start(kMatmul, "matmul");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.parallel(start.loops[2]); },
                    {"parallel of loop k", "block matmul reduces over it"});
  s.parallel(start.loops[0]);
  EXPECT_NE(text::print(*s.func(), "k").find("for i in parallel(n)"), std::string::npos);
  expect_user_error([&] { s.parallel(start.loops[1]); },
                    {"the parallel loop i is around it", "fuse the loops first"});
  expect_user_error([&] { s.parallel(start.loops[0]); }, {"it is parallel already"});
  expect_good(s, start.func, kRowsAroundEight);
}

TEST(Parallel, RefusesWhereIterationsMeet) {
  Start scan(kScan, "scan");
  expect_user_error([&] { scan.schedule.parallel(scan.loops[0]); },
                    {"block scan writes elements of y that two iterations may share"});
  Start scatter(R"(
prim def k(x: Buffer((n,), f32), at: Buffer((n,), i64), inout y: Buffer((4,), f32), n: i64) {
  for i in serial(n) {
    block "scatter" (v: spatial(n) = i) {
      y[at[v]] = x[v]
    }
  }
}
)",
                "scatter");
  expect_user_error([&] { scatter.schedule.parallel(scatter.loops[0]); },
                    {"two iterations may share"});
  Start halves(R"(
prim def k(x: Buffer((8,), f32), inout y: Buffer((8,), f32)) {
  for i in serial(8) {
    block "halves" (v: spatial(8) = i) {
      y[v // 2] = x[v]
    }
  }
}
)",
               "halves");
  expect_user_error([&] { halves.schedule.parallel(halves.loops[0]); },
                    {"two iterations may share"});
  Start raw(R"(
prim def k(x: Buffer((8,), f32), inout y: Buffer((8,), f32)) {
  for i in serial(8) {
    y[i] = x[i]
    block "more" (v: spatial(8) = i) {
      y[v] = x[v]
    }
  }
}
)",
            "more");
  expect_user_error([&] { raw.schedule.parallel(raw.loops[0]); },
                    {"a store to y outside blocks cannot be analyzed"});
}

// The values that a block writes decide where it writes next.
TEST(Parallel, RefusesDataDependentWrites) {
  Start start(R"(
prim def k(x: Buffer((8,), i64), inout y: Buffer((8,), i64)) {
  for i in serial(8) {
    block "b" (v: spatial(8) = i) {
      where y[0] < 3
      y[v] = x[v]
    }
  }
}
)",
              "b");
  expect_user_error([&] { start.schedule.parallel(start.loops[0]); },
                    {"block b depends on y, which it writes"});
}

// Marked loops of the input program are trusted, but nothing is moved into them.
TEST(Parallel, GivenMarksAreTrusted) {
  Start start(R"(
prim def k(x: Buffer((8,), f32), at: Buffer((8,), i64), inout y: Buffer((8,), f32), inout z: Buffer((8,), f32)) {
  for i in parallel(8) {
    for j in serial(1) {
      block "scatter" (v: spatial(8) = i) {
        y[at[v]] = x[v]
      }
    }
  }
}
)",
              "scatter");
  start.schedule.unroll(start.loops[1]);
  EXPECT_NE(text::print(*start.schedule.func(), "k").find("unrolled(1)"), std::string::npos);
}

TEST(Vectorize, MarksAndRefuses) {
  Start start(kMatmul, "matmul");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.vectorize(start.loops[1]); }, {"it contains another loop"});
  expect_user_error([&] { s.vectorize(start.loops[2]); },
                    {"reduces over it, and it sets the initial value inside"});
  s.decompose_reduction(s.block("matmul"), start.loops[2]);
  s.vectorize(start.loops[2]);
  auto bias = s.loops(s.block("bias"));
  s.vectorize(bias[1]);
  expect_good(s, start.func, kRowsAroundEight);
}

TEST(Vectorize, RefusesARecurrence) {
  Start start(R"(
prim def k(x: Buffer((8,), f32), inout y: Buffer((1,), f32)) {
  for r in serial(8) {
    block "b" (vr: reduce(8) = r) {
      y[0] = y[0] * f32(0.5) + x[vr]
    }
  }
}
)",
              "b");
  expect_user_error([&] { start.schedule.vectorize(start.loops[0]); }, {"block b reduces over it"});
}

TEST(Unroll, MarksAndRefuses) {
  Start start(kDouble, "double");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.unroll(start.loops[0]); },
                    {"unroll of loop i", "its extent n is not constant", "split it"});
  s.unroll(start.loops[1]);
  expect_good(s, start.func, kRowsAroundEight);
  Start wide(R"(
prim def k(out y: Buffer((1000,), f32)) {
  for i in serial(1000) {
    block "b" (v: spatial(1000) = i) {
      y[v] = f32(1.0)
    }
  }
}
)",
             "b");
  expect_user_error([&] { wide.schedule.unroll(wide.loops[0]); }, {"its extent 1000 is above 256"});
}

TEST(Bind, GroupsAndThreads) {
  Start start(kDouble, "double");
  Schedule& s = start.schedule;
  expect_user_error([&] { s.bind(start.loops[1], "thread"); },
                    {"there is no work-group loop around it"});
  expect_user_error([&] { s.bind(start.loops[1], "workgroup"); }, {"it is inside another loop"});
  expect_user_error([&] { s.bind(start.loops[0], "block"); }, {"there is no axis block"});
  expect_user_error([&] { s.bind(start.loops[0], "thread"); }, {"its extent n is not a constant"});
  s.bind(start.loops[0], "workgroup");
  s.bind(start.loops[1], "thread");
  EXPECT_EQ(s.func()->facts.workgroup_threads, 12);
  std::string printed = text::print(*s.func(), "k");
  EXPECT_NE(printed.find("for i in workgroup(n)"), std::string::npos);
  EXPECT_NE(printed.find("for j in thread(12)"), std::string::npos);
  expect_good(s, start.func, kRowsAroundEight);
}

TEST(Bind, AGridHasUpToThreeDimensions) {
  Start start(kDouble, "double");
  Schedule& s = start.schedule;
  const std::vector<Loop> rows = s.split(start.loops[0], {std::nullopt, 2});
  const std::vector<Loop> columns = s.split(start.loops[1], {3, std::nullopt});
  expect_user_error([&] { s.bind(rows[1], "workgroup"); }, {"it is inside another loop"});
  s.bind(rows[0], "workgroup");
  expect_user_error([&] { s.bind(columns[0], "workgroup"); }, {"it is inside another loop"});
  s.bind(rows[1], "workgroup");
  s.bind(columns[0], "workgroup");
  expect_user_error([&] { s.bind(columns[1], "workgroup"); }, {"the grid has three dimensions"});
  s.bind(columns[1], "thread");
  std::string printed = text::print(*s.func(), "k");
  EXPECT_NE(printed.find("for i_0 in workgroup((n + 1)//2)"), std::string::npos) << printed;
  EXPECT_NE(printed.find("for i_1 in workgroup(2)"), std::string::npos) << printed;
  EXPECT_NE(printed.find("for j_0 in workgroup(3)"), std::string::npos) << printed;
  expect_good(s, start.func, kRowsAroundEight);
}

TEST(Bind, OnlyLoopsBetweenGroupAndThread) {
  Start start(kMatmul, "matmul");
  Schedule& s = start.schedule;
  s.bind(start.loops[0], "workgroup");
  s.bind(start.loops[1], "thread");
  expect_user_error([&] { s.decompose_reduction(s.block("matmul"), start.loops[1]); },
                    {"the thread loop j would become invalid",
                     "there is more than loops between it and its work-group loop"});
  s.decompose_reduction(s.block("matmul"), start.loops[2]);
  expect_good(s, start.func, kRowsAroundEight);
}

TEST(Bind, GroupsStayOutermost) {
  Start start(kDouble, "double");
  Schedule& s = start.schedule;
  s.bind(start.loops[0], "workgroup");
  expect_user_error([&] { s.reorder({start.loops[1], start.loops[0]}); },
                    {"the workgroup loop i would become invalid: it is inside another loop"});
  s.bind(start.loops[1], "thread");
  expect_user_error([&] { s.reorder({start.loops[1], start.loops[0]}); }, {"would become invalid"});
}

TEST(Loops, RemovedOnesAreNamed) {
  Start start(kDouble, "double");
  start.schedule.split(start.loops[0], {std::nullopt, 4});
  expect_user_error([&] { start.schedule.parallel(start.loops[0]); },
                    {"loop i no longer exists", "ask for the loops of a block again"});
  expect_user_error([&] { start.schedule.block("triple"); },
                    {"no block named triple", "one of double"});
}

}  // namespace
}  // namespace tapml::testing
