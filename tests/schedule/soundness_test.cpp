// Programs that look like those the rules handle, but where moving a stage would change the result.
#include <gtest/gtest.h>

#include "schedule/rules.h"
#include "schedule/stage.h"
#include "text/parser.h"

namespace tapml::schedule {
namespace {

Module parse_module(const std::string& source) { return text::parse(source, "test"); }

StagedProgram stages(const Module& module) {
  auto program = find_stages(*tir::as_prim_func(module.find("k")));
  EXPECT_TRUE(program.has_value());
  return program ? *program : StagedProgram{};
}

TEST(Stages, ALoopServesOneIterator) {
  Module module = parse_module(R"(
prim def k(out y: Buffer((4, 4), f32)) {
  for i in serial(4) {
    for j in serial(4) {
      block "diagonal" (a: spatial(4) = i, b: spatial(4) = i) {
        writes y[a, b]
        y[a, b] = f32(1.0)
      }
    }
  }
}
)");
  EXPECT_FALSE(find_stages(*tir::as_prim_func(module.find("k"))).has_value());
}

// Reverses in place through a copy.
const char* kReverse = R"(
prim def k(inout x: Buffer((n,), f32), n: i64) {
  alloc t: Buffer((n,), f32)
  for i in serial(n) {
    block "copy" (v: spatial(n) = i) {
      reads x[n - 1 - v]
      writes t[v]
      t[v] = x[n - 1 - v]
    }
  }
  for i in serial(n) {
    block "back" (v: spatial(n) = i) {
      reads t[v]
      writes x[v]
      x[v] = t[v]
    }
  }
}
)";

TEST(InlineProducers, NotIfTheirInputsAreOverwritten) {
  Module module = parse_module(kReverse);
  StagedProgram program = stages(module);
  inline_producers(program);
  EXPECT_EQ(program.stages.size(), 2u);
}

TEST(Rules, RowsDoNotUpdateInPlace) {
  Module module = parse_module(kReverse);
  for (const char* target : {"cpu", "opencl"}) {
    Scheduled scheduled =
        schedule_for(*tir::as_prim_func(module.find("k")), target::parse_target(target));
    EXPECT_EQ(scheduled.rule.find("cpu_rows"), std::string::npos) << scheduled.rule;
  }
}

TEST(InlineProducers, ChainsThatDoubleStayModerate) {
  constexpr int kSteps = 40;
  std::string source = "prim def k(t0: Buffer((n,), f32), out t" + std::to_string(kSteps) +
                       ": Buffer((n,), f32), n: i64) {\n",
              body;
  for (int i = 1; i <= kSteps; ++i) {
    std::string from = "t" + std::to_string(i - 1), to = "t" + std::to_string(i);
    if (i < kSteps) source += "alloc " + to + ": Buffer((n,), f32)\n";
    body += "for i in serial(n) { block \"b\" (v: spatial(n) = i) { reads " + from + "[v] writes " +
            to + "[v] " + to + "[v] = " + from + "[v] * (" + from + "[v] + f32(1.0)) } }\n";
  }
  Module module = parse_module(source + body + "}");
  StagedProgram program = stages(module);
  inline_producers(program);
  EXPECT_GT(program.stages.size(), 1u);
  EXPECT_LT(program.stages.size(), static_cast<size_t>(kSteps));
}

TEST(FoldEpilogues, NotIfTheReductionReadsTheConsumersOutput) {
  Module module = parse_module(R"(
prim def k(inout x: Buffer((n,), f32), n: i64) {
  alloc t: Buffer((n,), f32)
  for i in serial(n) {
    for r in serial(n) {
      block "sum" (v: spatial(n) = i, s: reduce(n) = r) {
        reads x[s]
        writes t[v]
        init { t[v] = f32(0.0) }
        t[v] = t[v] + x[s]
      }
    }
  }
  for i in serial(n) {
    block "back" (v: spatial(n) = i) {
      reads t[v]
      writes x[v]
      x[v] = t[v]
    }
  }
}
)");
  StagedProgram program = stages(module);
  fold_epilogues(program);
  EXPECT_EQ(program.stages.size(), 2u);
  Scheduled scheduled =
      schedule_for(*tir::as_prim_func(module.find("k")), target::parse_target("cpu"));
  EXPECT_EQ(scheduled.rule.find("cpu_rows"), std::string::npos) << scheduled.rule;
}

}  // namespace
}  // namespace tapml::schedule
