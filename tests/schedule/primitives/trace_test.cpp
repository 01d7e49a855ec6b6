// Traces as text: printed, parsed, replayed on the same and on another program.
#include <gtest/gtest.h>

#include "programs.h"
#include "support/matrix_program.h"

namespace tapml::testing {
namespace {

using schedule::Schedule;
using schedule::Trace;

const char* const kTrace = R"(%sum = block("sum")
%i, %r = loops(%sum)
%sum_init = decompose_reduction(%sum, %r)
%r_0, %r_1 = split(%r, factors=[?, 4])
reorder(%r_1, %r_0)
parallel(%i)
unroll(%r_1)
)";

TEST(TraceText, PrintsWhatWasDone) {
  Schedule s(parse_program(kSum));
  auto sum = s.block("sum");
  auto loops = s.loops(sum);
  s.decompose_reduction(sum, loops[1]);
  auto steps = s.split(loops[1], {std::nullopt, 4});
  s.reorder({steps[1], steps[0]});
  s.parallel(loops[0]);
  s.unroll(steps[1]);
  EXPECT_EQ(s.trace().print(), kTrace);
  EXPECT_EQ(Trace::parse(kTrace), s.trace());
  EXPECT_EQ(Trace::parse(kTrace).print(), kTrace);
}

TEST(TraceText, CommentsAndBlanks) {
  Trace trace = Trace::parse(
      "# a comment\n\n  %b = block( \"two words\\n\\\"\" )  # more\n"
      "storage_align(%b, dim=0, factor=8, offset=-1)");
  ASSERT_EQ(trace.instructions.size(), 2u);
  EXPECT_EQ(std::get<std::string>(trace.instructions[0].values[0]), "two words\n\"");
  EXPECT_EQ(std::get<int64_t>(trace.instructions[1].attributes[2].second), -1);
  EXPECT_EQ(trace.instructions[1].line, 4);
  EXPECT_EQ(Trace::parse(trace.print()), trace);
}

TEST(TraceText, RefusesMalformedTraces) {
  auto refuse = [](const char* text, const std::vector<std::string>& parts) {
    expect_user_error([&] { Trace::parse(text, "t.txt"); }, parts);
  };
  refuse("parallel(%i", {"t.txt:1:12", "','", "the end"});
  refuse("\n%i = ", {"t.txt:2:6", "an instruction"});
  refuse("% = block(\"a\")", {"a name", "'='"});
  refuse("f(%a) g", {"the end of the line", "'g'"});
  refuse("f(factors=[1, x])", {"an integer of 64 bits", "'x'"});
  refuse("f(99999999999999999999)", {"an integer of 64 bits"});
  refuse("f(\"open", {"'\"'", "the end"});
  refuse("f(1, %a)", {"a value"});
  refuse("f(a=1, 2)", {"name=value"});
}

TEST(Replay, OnTheSameAndOnAnotherProgram) {
  tir::PrimFuncRef func = parse_program(kSum);
  Schedule s = schedule::replay(Trace::parse(kTrace), func);
  expect_good(s, func, {{{"n", 0}, {"m", 2}}, {{"n", 3}, {"m", 0}}, {{"n", 3}, {"m", 5}}});
  tir::PrimFuncRef products = parse_program(R"(
prim def k(x: Buffer((7, 10), f64), out y: Buffer((7,), f64)) {
  for i in serial(7) {
    for r in serial(10) {
      block "sum" (vi: spatial(7) = i, vr: reduce(10) = r) {
        init {
          y[vi] = f64(1.0)
        }
        y[vi] = y[vi] * x[vi, vr]
      }
    }
  }
}
)");
  Schedule other = schedule::replay(Trace::parse(kTrace), products);
  expect_good(other, products, {{}});
}

TEST(Replay, RefusesWithTheLine) {
  auto refuse = [](const char* text, const std::vector<std::string>& parts) {
    expect_user_error([&] { schedule::replay(Trace::parse(text), parse_program(kMatmul)); }, parts);
  };
  refuse("%b = block(\"matmul\")\n%i, %j = loops(%b)\n",
         {"line 2", "the number of results differs", "3", "2"});
  refuse("parallel(%i)", {"line 1", "%i is not defined earlier as a loop"});
  refuse("%b = block(\"product\")", {"line 1", "no block named product", "matmul, bias"});
  refuse("%b = block(\"matmul\")\nparallel(%b)", {"%b is not defined earlier as a loop"});
  refuse("tile(4)", {"unknown instruction", "split", "tile"});
  refuse("%b = block(\"matmul\")\n%i, %j, %k = loops(%b)\n\nparallel(%k)",
         {"line 4", "parallel of loop k", "reduces over it"});
  refuse("%b = block(\"matmul\")\n%i, %j, %k = loops(%b)\nsplit(%i, 4)",
         {"the operands do not fit", "1 %names"});
  refuse("%b = block(\"matmul\")\n%i, %j, %k = loops(%b)\n%a, %c = split(%i, factors=4)",
         {"a value has the wrong type"});
  refuse("%b = block(\"matmul\")\n%i, %j, %k = loops(%b)\n%x = parallel(%i)", {"it has no result"});
}

// A refused primitive does not change program or trace; copies are independent.
TEST(Schedules, AreValues) {
  tir::PrimFuncRef func = parse_program(kSum);
  Schedule s(func);
  auto loops = s.loops(s.block("sum"));
  Schedule copy = s;
  copy.parallel(loops[0]);
  EXPECT_EQ(s.func(), func);
  std::string trace = s.trace().print();
  EXPECT_THROW(s.parallel(loops[1]), CompilerException);
  EXPECT_EQ(s.func(), func);
  EXPECT_EQ(s.trace().print(), trace);
  EXPECT_NE(copy.trace().print(), trace);
}

TEST(Schedules, BlocksOfOneNameAreDistinguished) {
  Schedule s(parse_program(R"(
prim def k(x: Buffer((4,), f32), out y: Buffer((4,), f32), out z: Buffer((4,), f32)) {
  for i in serial(4) {
    block "copy" (v: spatial(4) = i) {
      y[v] = x[v]
    }
  }
  for i in serial(4) {
    block "copy" (v: spatial(4) = i) {
      z[v] = x[v]
    }
  }
}
)"));
  ASSERT_EQ(s.blocks().size(), 2u);
  EXPECT_EQ(s.blocks()[1].name, "copy_1");
  s.parallel(s.loops(s.block("copy_1"))[0]);
}

TEST(Schedules, RefuseProgramsThatTheyDoNotHandle) {
  expect_user_error(
      [] {
        Schedule(parse_program(R"(
prim def k(out y: Buffer((4,), f32)) {
  for i in serial(4) {
    block "outer" (v: spatial(4) = i) {
      block "inner" (w: spatial(4) = v) {
        y[w] = f32(1.0)
      }
    }
  }
}
)"));
      },
      {"block outer contains other blocks"});
  expect_user_error([] { Schedule(parse_program(matrix_program())); },
                    {"the program has matrix operations or asynchronous copies"});
  expect_user_error(
      [] {
        Schedule(parse_program(R"(
prim def k(inout c: Buffer((1,), i64), out y: Buffer((4,), f32)) {
  for i in serial(c[0]) {
    block "b" (v: spatial(4) = i) {
      y[v] = f32(1.0)
      c[0] = 1
    }
  }
}
)"));
      },
      {"the extent of loop i is loaded from c"});
}

}  // namespace
}  // namespace tapml::testing
