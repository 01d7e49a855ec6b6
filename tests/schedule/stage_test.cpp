// Stages, and the programs that rules make of them, as text.
#include "schedule/stage.h"

#include <gtest/gtest.h>

#include "parse_kernel.h"
#include "schedule/rules.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::schedule {
namespace {

using testing::parse_kernel;

void expect_scheduled(const std::string& source, const std::string& platform,
                      const std::string& rule, const std::string& expected) {
  Scheduled scheduled = schedule_for(*parse_kernel(source), target::parse_target(platform));
  EXPECT_EQ(scheduled.rule, rule);
  std::string difference;
  EXPECT_TRUE(
      text::structural_equal(*scheduled.func, *parse_kernel(expected), {.difference = &difference}))
      << difference << "\n"
      << text::print(*scheduled.func, "k");
}

constexpr const char* kAddExp = R"(
prim def k(x: Buffer((n,), f32), y: Buffer((n,), f32), out z: Buffer((n,), f32), n: i64) {
  alloc t: Buffer((n,), f32)
  for i in serial(n) {
    block "add" (v: spatial(n) = i) {
      reads x[v], y[v]
      writes t[v]
      t[v] = x[v] + y[v]
    }
  }
  for i in serial(n) {
    block "exp" (v: spatial(n) = i) {
      reads t[v]
      writes z[v]
      z[v] = exp(t[v])
    }
  }
}
)";

// t = row sums of x; z = t * y.
constexpr const char* kSumMultiply = R"(
prim def k(x: Buffer((n, m), f32), y: Buffer((n,), f32), out z: Buffer((n,), f32), n: i64, m: i64) {
  alloc t: Buffer((n,), f32)
  for i in serial(n) {
    for r in serial(m) {
      block "sum" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads x[vi, vr]
        writes t[vi]
        init {
          t[vi] = f32(0.0)
        }
        t[vi] = t[vi] + x[vi, vr]
      }
    }
  }
  for i in serial(n) {
    block "multiply" (v: spatial(n) = i) {
      reads t[v], y[v]
      writes z[v]
      z[v] = t[v] * y[v]
    }
  }
}
)";

TEST(FindStages, SpatialAndReductionIterators) {
  auto program = find_stages(*parse_kernel(kSumMultiply));
  ASSERT_TRUE(program);
  ASSERT_EQ(program->stages.size(), 2u);
  EXPECT_EQ(program->intermediates.size(), 1u);
  EXPECT_EQ(program->stages[0].name, "sum");
  EXPECT_TRUE(program->stages[0].simple);
  EXPECT_TRUE(program->stages[0].reduces());
  EXPECT_EQ(program->stages[0].spatial.size(), 1u);
  EXPECT_EQ(to_string(program->stages[0].reduction[0].extent), "m");
  EXPECT_FALSE(program->stages[1].reduces());
}

TEST(FindStages, NothingInScheduledPrograms) {
  auto func = parse_kernel(kAddExp);
  Scheduled scheduled = schedule_for(*func, target::parse_target("cpu"));
  EXPECT_FALSE(find_stages(*scheduled.func));
  EXPECT_EQ(schedule_for(*scheduled.func, target::parse_target("opencl")).rule, "as_written");
}

TEST(InlineProducers, IntoTheirConsumer) {
  auto program = find_stages(*parse_kernel(kAddExp));
  inline_producers(*program);
  ASSERT_EQ(program->stages.size(), 1u);
  EXPECT_TRUE(program->intermediates.empty());
  EXPECT_EQ(program->stages[0].name, "exp");
}

TEST(InlineProducers, CostlyOnesStayIfReductionStepsWouldRepeatThem) {
  auto program = find_stages(*parse_kernel(R"(
prim def k(x: Buffer((m,), f32), out z: Buffer((n,), f32), n: i64, m: i64) {
  alloc t: Buffer((m,), f32)
  for i in serial(m) {
    block "exp" (v: spatial(m) = i) {
      reads x[v]
      writes t[v]
      t[v] = exp(x[v])
    }
  }
  for i in serial(n) {
    for r in serial(m) {
      block "sum" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads t[vr]
        writes z[vi]
        init {
          z[vi] = f32(0.0)
        }
        z[vi] = z[vi] + t[vr]
      }
    }
  }
}
)"));
  inline_producers(*program);
  EXPECT_EQ(program->stages.size(), 2u);
  EXPECT_EQ(program->intermediates.size(), 1u);
}

TEST(FoldEpilogues, APointwiseConsumerEndsTheReduction) {
  auto program = find_stages(*parse_kernel(kSumMultiply));
  fold_epilogues(*program);
  ASSERT_EQ(program->stages.size(), 1u);
  const Stage& stage = program->stages[0];
  EXPECT_EQ(stage.final_out->name, "z");
  EXPECT_EQ(stage.out->name, "t");
  EXPECT_EQ(stage.final_value.kind(), ExprKind::kMul);
}

TEST(ScheduleFor, ElementwiseOnCpuSplitsTheLastAxis) {
  expect_scheduled(kAddExp, "cpu", "cpu_elementwise", R"(
prim def k(x: Buffer((n,), f32), y: Buffer((n,), f32), out z: Buffer((n,), f32), n: i64) {
  for item in parallel((n + 1023)//1024) {
    for v in vectorized(min(1024, n - item*1024)) {
      z[item*1024 + v] = exp(x[item*1024 + v] + y[item*1024 + v])
    }
  }
}
)");
}

TEST(ScheduleFor, FallbackIsOneItemPerPoint) {
  expect_scheduled(kSumMultiply, "opencl:schedule=fallback", "fallback", R"(
prim def k(x: Buffer((n, m), f32), y: Buffer((n,), f32), out z: Buffer((n,), f32), n: i64, m: i64) {workgroup_threads: 64} {
  for item in parallel(n) {
    alloc t_acc: Buffer((1,), f32, local)
    t_acc[0] = f32(0.0)
    for r in serial(m) {
      t_acc[0] = t_acc[0] + x[item, r]
    }
    z[item] = t_acc[0] * y[item]
  }
}
)");
}

TEST(ScheduleFor, ReductionsOnCpuRunAsLanes) {
  expect_scheduled(kSumMultiply, "cpu", "cpu_reduction", R"(
prim def k(x: Buffer((n, m), f32), y: Buffer((n,), f32), out z: Buffer((n,), f32), n: i64, m: i64) {
  for item in parallel(n) {
    alloc t_acc: Buffer((1,), f32, local)
    t_acc[0] = f32(0.0)
    for r in vectorized(m) {
      t_acc[0] = t_acc[0] + x[item, r]
    }
    z[item] = t_acc[0] * y[item]
  }
}
)");
}

}  // namespace
}  // namespace tapml::schedule
