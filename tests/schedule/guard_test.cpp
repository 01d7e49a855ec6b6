// Loops that end early where a select makes the rest irrelevant, against values computed by hand.
#include "schedule/guard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "interp/interpreter.h"
#include "parse_kernel.h"
#include "schedule/rules.h"
#include "text/printer.h"

namespace tapml::schedule {
namespace {

using testing::parse_kernel;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// y[v] = `combine` over w < m of select(`condition`, x[v, w], `other`), from `init`.
std::string reduction(const std::string& condition, const std::string& combine,
                      const std::string& init, const std::string& other) {
  std::string term = "select(" + condition + ", x[v, w], f32(" + other + "))";
  std::string value = combine == "sum" ? "y[v] + " + term : combine + "(y[v], " + term + ")";
  return R"(
prim def k(x: Buffer((n, m), f32), e: Buffer((n,), i64), out y: Buffer((n,), f32),
           n: i64, m: i64) {
  for i in serial(n) {
    for r in serial(m) {
      block "guarded" (v: spatial(n) = i, w: reduce(m) = r) {
        reads x[v, w], e[v]
        writes y[v]
        init { y[v] = f32()" +
         init + R"() }
        y[v] = )" +
         value + R"(
      }
    }
  }
}
)";
}

Stage only_stage(const std::string& source) {
  auto program = find_stages(*parse_kernel(source));
  EXPECT_TRUE(program && program->stages.size() == 1);
  return program->stages.at(0);
}

bool has_select(const PrimExpr& expr) {
  bool found = false;
  visit_expr(expr, [&](const PrimExpr& e) { found |= e.kind() == ExprKind::kSelect; });
  return found;
}

struct Form {
  const char *condition, *combine, *init, *other;
  bool ends;  // early
};

const std::vector<Form> kForms = {
    {"w < e[v]", "sum", "0.0", "0.0", true},       {"w <= e[v] + v", "sum", "0.0", "0.0", true},
    {"w < e[v]", "max", "-100.0", "-100.0", true}, {"w < e[v]", "min", "100.0", "100.0", true},
    {"w < e[v]", "sum", "1.0", "0.0", false},      {"w < e[v]", "sum", "-0.0", "-0.0", false},
    {"w < e[v]", "sum", "0.0", "-0.0", false},     {"w < e[v]", "max", "-100.0", "0.0", false},
    {"e[v] < w", "sum", "0.0", "0.0", false},      {"w + w < e[v]", "sum", "0.0", "0.0", false},
    {"w < e[w]", "sum", "0.0", "0.0", false},
};

TEST(Guard, ReductionsEndWhereTheRestAddsNothing) {
  for (const Form& form : kForms) {
    Stage stage = without_idle_steps(
        only_stage(reduction(form.condition, form.combine, form.init, form.other)));
    EXPECT_EQ(has_select(stage.value), !form.ends) << form.condition << form.combine;
    EXPECT_EQ(has_select(stage.reduction[0].extent), form.ends) << form.condition << form.combine;
  }
}

// Ends below zero, inside, and after the last step; values after an end are never used.
TEST(Guard, ScheduledReductionsHaveTheSameValues) {
  constexpr int64_t kRows = 6, kSteps = 5;
  const std::vector<int64_t> ends = {-3, 0, 1, 4, 5, 9};
  for (const Form& form : kForms) {
    if (!form.ends) continue;
    std::string condition = form.condition;
    const bool shifted = condition != "w < e[v]";
    HostTensor x = HostTensor::zeros(DType::kF32, {kRows, kSteps});
    HostTensor e = HostTensor::zeros(DType::kI64, {kRows});
    std::vector<float> expected;
    for (int64_t v = 0; v < kRows; ++v) {
      int64_t end = ends[static_cast<size_t>(v)];
      e.mutable_values<int64_t>()[static_cast<size_t>(v)] = shifted ? end - 1 - v : end;
      float value = std::stof(form.init);
      for (int64_t w = 0; w < kSteps; ++w) {
        float element = w < end ? static_cast<float>((v * 7 + w * 3) % 11) - 5 : kNaN;
        x.mutable_values<float>()[static_cast<size_t>(v * kSteps + w)] = element;
        if (w >= end) continue;
        const std::string combine = form.combine;
        value = combine == "sum"   ? value + element
                : combine == "max" ? std::fmax(value, element)
                                   : std::fmin(value, element);
      }
      expected.push_back(value);
    }
    std::string source = reduction(form.condition, form.combine, form.init, form.other);
    Scheduled scheduled = schedule_for(*parse_kernel(source), target::parse_target("cpu"));
    std::vector<HostTensor> arguments = {x, e, HostTensor::zeros(DType::kF32, {kRows})};
    interp::run_prim_func(*scheduled.func, arguments, std::vector<int64_t>{kRows, kSteps});
    std::span<const float> found = std::as_const(arguments[2]).values<float>();
    EXPECT_EQ(std::vector<float>(found.begin(), found.end()), expected)
        << form.condition << " " << form.combine;
  }
}

// Triangular: the limit varies over the lanes of a row, which share one reduction loop.
TEST(Guard, LimitsOfLanesDoNotEndTheirCommonLoop) {
  const char* source = R"(
prim def k(x: Buffer((m, 8), f32), out y: Buffer((2, 8), f32), m: i64) {
  for i in serial(2) {
    for j in serial(8) {
      for r in serial(m) {
        block "triangle" (u: spatial(2) = i, v: spatial(8) = j, w: reduce(m) = r) {
          reads x[w, v]
          writes y[u, v]
          init { y[u, v] = f32(0.0) }
          y[u, v] = y[u, v] + select(w <= v, x[w, v], f32(0.0))
        }
      }
    }
  }
}
)";
  Scheduled scheduled = schedule_for(*parse_kernel(source), target::parse_target("cpu"));
  for (int64_t steps : {0, 3, 8, 11}) {
    HostTensor x = HostTensor::zeros(DType::kF32, {steps, 8});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>(i + 1));
    std::vector<HostTensor> arguments = {x, HostTensor::zeros(DType::kF32, {2, 8})};
    interp::run_prim_func(*scheduled.func, arguments, std::vector<int64_t>{steps});
    for (int64_t v = 0; v < 8; ++v) {
      double sum = 0;
      for (int64_t w = 0; w < steps && w <= v; ++w) sum += x.at_f64(w * 8 + v);
      EXPECT_EQ(arguments[1].at_f64(8 + v), sum) << steps << " steps, lane " << v;
    }
  }
}

TEST(Guard, PointsAreSplitWhereTheyChange) {
  Stage stage = only_stage(R"(
prim def k(x: Buffer((n,), f32), e: Buffer((1,), i64), out y: Buffer((n,), f32), n: i64) {
  for i in serial(n) {
    block "cut" (v: spatial(n) = i) {
      reads x[v], e[0]
      writes y[v]
      y[v] = select(v <= e[0], exp(x[v]), f32(7.0))
    }
  }
}
)");
  auto split = split_last_iterator(stage);
  ASSERT_TRUE(split.has_value());
  EXPECT_FALSE(has_select(split->below.final_value));
  EXPECT_EQ(split->below.final_value.kind(), ExprKind::kCall);
  EXPECT_EQ(split->rest.final_value.kind(), ExprKind::kFloat);
}

// Points of a row whose sums are 0 after the end: no reduction runs for them.
TEST(Guard, SumsAfterTheEndAreTheirInitialValue) {
  Stage stage = only_stage(R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n,), f32), e: Buffer((1,), i64),
           n: i64, m: i64) {
  for i in serial(n) {
    for r in serial(m) {
      block "sums" (v: spatial(n) = i, w: reduce(m) = r) {
        reads x[v, w], e[0]
        writes y[v]
        init { y[v] = f32(0.0) }
        y[v] = y[v] + select(v < e[0], x[v, w], f32(0.0))
      }
    }
  }
}
)");
  auto split = split_last_iterator(stage);
  ASSERT_TRUE(split.has_value());
  EXPECT_TRUE(split->below.reduces());
  EXPECT_FALSE(has_select(split->below.value));
  EXPECT_FALSE(split->rest.reduces());
  EXPECT_EQ(split->rest.final_value.kind(), ExprKind::kFloat);
}

}  // namespace
}  // namespace tapml::schedule
