// Schedules of work groups: which rule applies to what, around the sizes of tiles and teams, for
// every dtype, and what is refused.
#include <gtest/gtest.h>

#include "passes/lower_math.h"
#include "schedule/rules.h"
#include "support/attention_case.h"
#include "support/kernel_cases.h"
#include "text/parser.h"
#include "tir/visit.h"

namespace tapml::testing {
namespace {

// With plain groups of 64 threads, of 128, and within the smallest limits; without subgroups, with
// narrow ones, and with subgroups as wide as a group.
constexpr const char* kTargets[] = {"opencl:groups=gpu",
                                    "opencl:groups=gpu,subgroups=2",
                                    "opencl:for=adreno-740",
                                    "opencl:for=rtx",
                                    "opencl:for=rdna3",
                                    "opencl:for=webgpu",
                                    "opencl"};

std::string gpu_rule(const tir::PrimFunc& func, const char* target = "opencl:groups=gpu") {
  return schedule::schedule_for(func, target::parse_target(target)).rule;
}

// The kernel at all its sizes in the interpreter, on every target.
void expect_right_everywhere(const KernelProgram& kernel, const std::string& rule) {
  EXPECT_EQ(gpu_rule(*kernel.func), rule) << kernel.name;
  for (const char* target : kTargets) {
    SCOPED_TRACE(target);
    tir::PrimFuncRef loops = passes::lower_math(
        *schedule::schedule_for(*kernel.func, target::parse_target(target)).func);
    for (const Sizes& at : kernel.sizes) {
      SCOPED_TRACE(kernel.label(at));
      std::vector<HostTensor> arguments = kernel.arguments(at);
      std::vector<op::RefTensor> expected = kernel.expected(arguments, at);
      interp::run_prim_func(*loops, arguments, kernel.scalars(at));
      if (!expect_within_bounds(kernel, at, arguments, expected)) return;
    }
  }
}

const AttrMap kTransposed = {{"transpose_b", true}};
const AttrMap kLast = {{"axes", std::vector<int64_t>{-1}}};
constexpr DType kAccurate = DType::kF64;
using cases::each;

TEST(GpuRules, ProductsOfManyRows) {
  Var n = make_var("n"), m = make_var("m"), k = make_var("k");
  std::vector<Sizes> around = each("n", {0, 1, 3, 4, 15, 16, 17, 33}, {{"m", 20}, {"k", 18}});
  for (Sizes& more : each("m", {0, 1, 63, 65, 129, 257}, {{"n", 5}, {"k", 3}})) {
    around.push_back(more);
  }
  for (Sizes& more : each("k", {0, 1, 15, 16, 17, 33}, {{"n", 18}, {"m", 17}})) {
    around.push_back(more);
  }
  expect_right_everywhere(
      operator_program("matmul", {{{n, k}, kF32}, {{m, k}, kF32}}, around, kTransposed),
      "gpu_matmul");
  expect_right_everywhere(operator_program("matmul", {{{n, k}, kF32}, {{k, m}, kF32}}, around),
                          "gpu_matmul");
  std::vector<Sizes> rows = each("n", {0, 1, 4, 17});
  for (DType dtype : {kBF16, kF16}) {
    expect_right_everywhere(
        operator_program("matmul", {{{n, 40}, kF32}, {{70, 40}, dtype}}, rows, kTransposed),
        "gpu_matmul");
  }
  expect_right_everywhere(
      operator_program("matmul", {{{n, 40}, kAccurate}, {{40, 64}, kAccurate}}, rows),
      "gpu_matmul");
  expect_right_everywhere(
      operator_program("matmul", {{{20, 32}, kF32}, {{128, 32}, kF32}}, {{}}, kTransposed),
      "gpu_matmul");
  expect_right_everywhere(
      operator_program("matmul", {{{3, n, 20}, kF32}, {{3, 20, 33}, kF32}}, rows), "gpu_matmul");
  expect_right_everywhere(operator_program("conv2d", {{{n, 3, 9, 20}, kF32}, {{8, 3, 3, 3}, kF32}},
                                           each("n", {0, 1, 2})),
                          "gpu_matmul");
}

TEST(GpuRules, ProductsOfARow) {
  Var m = make_var("m"), k = make_var("k"), b = make_var("b");
  std::vector<Sizes> around = each("m", {0, 1, 3, 4, 5, 15, 17, 65, 257}, {{"k", 33}});
  for (Sizes& more : each("k", {0, 1, 63, 64, 65, 129, 300}, {{"m", 9}})) around.push_back(more);
  expect_right_everywhere(
      operator_program("matmul", {{{1, k}, kF32}, {{m, k}, kBF16}}, around, kTransposed),
      "gpu_vector_matrix");
  expect_right_everywhere(operator_program("matmul", {{{1, k}, kF32}, {{k, m}, kF32}}, around),
                          "gpu_vector_matrix");
  expect_right_everywhere(
      operator_program("matmul", {{{2, 200}, kF32}, {{70, 200}, kF16}}, {{}}, kTransposed),
      "gpu_vector_matrix");
  // Few or many rows: the launch has both bodies.
  expect_right_everywhere(operator_program("matmul", {{{b, 1, 192}, kF32}, {{48, 192}, kF32}},
                                           each("b", {0, 1, 3, 4, 5}), kTransposed),
                          "gpu_matmul");
}

// Lanes of a CPU's vectors: around the columns of a team, the rows of a tile and the steps that a
// subgroup takes at once, for weights along the sum and along the columns.
TEST(GpuRules, ProductsOnCpusWithSubgroups) {
  Var n = make_var("n"), m = make_var("m"), b = make_var("b");
  const std::vector<Sizes> rows = each("n", {0, 1, 3, 4, 5, 9});
  auto expect_lanes = [](const KernelProgram& kernel, const std::string& rule) {
    for (const char* target : {"vulkan:for=lavapipe", "vulkan:for=lavapipe,subgroups=4",
                               "vulkan:for=lavapipe,subgroups=16"}) {
      SCOPED_TRACE(target);
      const schedule::Scheduled scheduled =
          schedule::schedule_for(*kernel.func, target::parse_target(target));
      EXPECT_EQ(scheduled.rule, rule) << kernel.name;
      const tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
      for (const Sizes& at : kernel.sizes) {
        SCOPED_TRACE(kernel.label(at));
        std::vector<HostTensor> arguments = kernel.arguments(at);
        const std::vector<op::RefTensor> expected = kernel.expected(arguments, at);
        interp::run_prim_func(*loops, arguments, kernel.scalars(at));
        if (!expect_within_bounds(kernel, at, arguments, expected)) return;
      }
    }
  };
  const char* lanes = "gpu_lane_product";
  for (int64_t k : {64, 68, 192}) {
    for (DType dtype : {kF32, kBF16, kF16}) {
      expect_lanes(
          operator_program("matmul", {{{n, k}, kF32}, {{19, k}, dtype}}, rows, kTransposed), lanes);
    }
    expect_lanes(operator_program("matmul", {{{1, k}, kF32}, {{m, k}, kF32}},
                                  each("m", {0, 1, 7, 8, 9, 33}), kTransposed),
                 lanes);
    // A lane gets as many columns as leave work for all threads: one, and more.
    for (int64_t columns : {256, 275, 1100}) {
      expect_lanes(operator_program("matmul", {{{n, k}, kF32}, {{columns, k}, kBF16}},
                                    each("n", {1, 5}), kTransposed),
                   lanes);
    }
  }
  for (int64_t columns : {64, 76, 192, 1100}) {
    expect_lanes(operator_program("matmul", {{{n, 5}, kF32}, {{5, columns}, kF32}}, rows), lanes);
    expect_lanes(operator_program("matmul", {{{1, 7}, kF32}, {{7, columns}, kBF16}}, {{}}), lanes);
  }
  expect_lanes(
      operator_program("matmul", {{{b, 3, 64}, kF32}, {{b, 64, 64}, kF32}}, each("b", {0, 1, 2})),
      lanes);
  KernelMaker maker("matmul_silu_multiply");
  relax::Variable x = maker.param({n, 64}, kF32);
  relax::Variable product = maker.op("matmul", {x, maker.param({24, 64}, kF32)}, kTransposed);
  maker.op("multiply", {maker.op("silu", {product}), maker.param({n, 24}, kF32)});
  expect_lanes(maker.fused(rows), lanes);
  // Sums of unknown length, of a length not divisible by four, and of doubles: other rules apply.
  Var k = make_var("k");
  expect_lanes(operator_program("matmul", {{{1, k}, kF32}, {{9, k}, kF32}}, each("k", {0, 1, 70}),
                                kTransposed),
               "gpu_vector_matrix");
  expect_lanes(operator_program("matmul", {{{1, 70}, kF32}, {{9, 70}, kF32}}, {{}}, kTransposed),
               "gpu_vector_matrix");
  expect_lanes(
      operator_program("matmul", {{{1, 64}, kAccurate}, {{9, 64}, kAccurate}}, {{}}, kTransposed),
      "gpu_vector_matrix");
  EXPECT_EQ(
      gpu_rule(
          *operator_program("matmul", {{{1, 64}, kF32}, {{9, 64}, kF32}}, {{}}, kTransposed).func,
          "vulkan:for=rtx"),
      "gpu_vector_matrix");
}

TEST(GpuRules, EpiloguesStayInTheLaunch) {
  Var n = make_var("n");
  KernelMaker maker("matmul_silu_multiply");
  relax::Variable x = maker.param({n, 48}, kF32);
  relax::Variable product = maker.op("matmul", {x, maker.param({64, 48}, kF32)}, kTransposed);
  maker.op("multiply", {maker.op("silu", {product}), maker.param({n, 64}, kF32)});
  KernelProgram kernel = maker.fused(each("n", {0, 1, 3, 4, 17}));
  expect_right_everywhere(kernel, "gpu_matmul");
}

TEST(GpuRules, Rows) {
  Var n = make_var("n"), m = make_var("m");
  std::vector<Sizes> sizes = each("m", {1, 2, 63, 64, 65, 200}, {{"n", 3}});
  sizes.push_back({{"n", 0}, {"m", 5}});
  for (DType dtype : {kF32, kF16, kBF16, kAccurate}) {
    expect_right_everywhere(operator_program("softmax", {{{n, m}, dtype}}, sizes), "gpu_rows");
    expect_right_everywhere(operator_program("softmax", {{{n, 100}, dtype}}, each("n", {0, 1, 5})),
                            "gpu_rows");
    expect_right_everywhere(
        operator_program("rms_norm", {{{n, 192}, kF32}, {{192}, dtype == kAccurate ? kF32 : dtype}},
                         each("n", {0, 1, 4})),
        "gpu_rows");
  }
  expect_right_everywhere(
      operator_program("layer_norm", {{{n, m}, kF32}, {{m}, kF32}, {{m}, kF32}}, sizes),
      "gpu_rows");
  expect_right_everywhere(
      operator_program("log_softmax", {{{2, n, 33}, kF32}}, each("n", {0, 1, 3})), "gpu_rows");
  expect_right_everywhere(operator_program("argmax", {{{n, m}, kF32}}, sizes), "gpu_rows");
}

// Blocks of positions with a partial last block, with fewer and more positions than a row has.
TEST(GpuRules, AttentionRunsBlockByBlock) {
  for (DType cache : {kF32, kBF16}) {
    const KernelProgram kernel = long_attention(cache, 8, attention_sizes());
    expect_right_everywhere(kernel, "gpu_attention");
    for (const char* target : kTargets) {
      if (std::string(target) == "opencl") continue;
      const auto scheduled = schedule::schedule_for(*kernel.func, target::parse_target(target));
      tir::visit(scheduled.func->body, [&](const tir::Stmt& s) {
        if (s->kind != tir::StmtKind::kAlloc) return;
        EXPECT_NE(tir::as<tir::AllocNode>(s).buffer->scope, tir::Scope::kGlobal) << target;
      });
    }
  }
}

// Sums of v weighted by exp(x - max x), divided by their sum; `exps`, `weight` and `last` replace
// the exponentials, their use and the mean.
struct Weighing {
  std::string exps = "exp(s[i, j] - peak[i])", weight = "e[i, r]", last = "sums[i, c] / total[i]";
  std::string lowest = "-1e38";
};
tir::PrimFuncRef weighing(const Weighing& w) {
  const std::string text = R"(
prim def k(x: Buffer((n, m, 3), f32), v: Buffer((m, 4), f32), out y: Buffer((n, 4), f32), n: i64, m: i64) {
  alloc s: Buffer((n, m), f32)
  alloc peak: Buffer((n,), f32)
  alloc e: Buffer((n, m), f32)
  alloc total: Buffer((n,), f32)
  alloc sums: Buffer((n, 4), f32)
  for a in serial(n) { for b in serial(m) { for d in serial(3) {
    block "s" (i: spatial(n) = a, j: spatial(m) = b, r: reduce(3) = d) {
      init { s[i, j] = f32(0) }
      s[i, j] = s[i, j] + x[i, j, r]*x[i, j, 0]
    } } } }
  for a in serial(n) { for b in serial(m) {
    block "peak" (i: spatial(n) = a, r: reduce(m) = b) {
      init { peak[i] = f32(LOWEST) }
      peak[i] = max(peak[i], s[i, r])
    } } }
  for a in serial(n) { for b in serial(m) {
    block "e" (i: spatial(n) = a, j: spatial(m) = b) { e[i, j] = EXPS }
  } }
  for a in serial(n) { for b in serial(m) {
    block "total" (i: spatial(n) = a, r: reduce(m) = b) {
      init { total[i] = f32(0) }
      total[i] = total[i] + e[i, r]
    } } }
  for a in serial(n) { for z in serial(4) { for b in serial(m) {
    block "sums" (i: spatial(n) = a, c: spatial(4) = z, r: reduce(m) = b) {
      init { sums[i, c] = f32(0) }
      sums[i, c] = sums[i, c] + WEIGHT*v[r, c]
    } } } }
  for a in serial(n) { for z in serial(4) {
    block "y" (i: spatial(n) = a, c: spatial(4) = z) { y[i, c] = LAST }
  } }
}
)";
  std::string filled = text;
  for (const auto& [name, value] :
       {std::pair("EXPS", w.exps), {"WEIGHT", w.weight}, {"LAST", w.last}, {"LOWEST", w.lowest}}) {
    filled.replace(filled.find(name), std::string(name).size(), value);
  }
  Module module = text::parse(filled, "test");
  return std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

TEST(GpuRules, AttentionMustScaleWithItsExponentials) {
  EXPECT_EQ(gpu_rule(*weighing({})), "gpu_attention");
  EXPECT_EQ(gpu_rule(*weighing({"select(j < 7, f32(0), exp(s[i, j] - peak[i])*x[i, j, 1])"})),
            "gpu_attention");
  const Weighing others[] = {
      {"exp(s[i, j] - peak[i]) + f32(1)"},
      {"exp(peak[i] - s[i, j])"},
      {"exp(s[i, j] - peak[i])*peak[i]"},
      {"exp2(s[i, j] - peak[i])"},
      {"exp(s[i, m - 1 - j] - peak[i])"},
      {.weight = "e[i, r]*e[i, r]"},
      {.weight = "e[i, m - 1 - r]"},
      {.weight = "s[i, r]"},
      {.last = "sums[i, c] / (total[i] + e[i, 0])"},
      {.last = "sums[i, c] + f32(1) / total[i]", .lowest = "-inf"},
  };
  for (const Weighing& other : others) {
    EXPECT_NE(gpu_rule(*weighing(other)), "gpu_attention")
        << other.exps << " | " << other.weight << " | " << other.last << " | " << other.lowest;
  }
}

// Of three rows, the second begins with scores of negative infinity, and the third has only such
// scores.
TEST(GpuRules, AttentionAgreesWithItsReference) {
  for (const char* lowest : {"-1e38", "-inf"}) {
    const tir::PrimFuncRef program = weighing({.lowest = lowest});
    const auto scheduled =
        schedule::schedule_for(*program, target::parse_target("opencl:groups=gpu"));
    EXPECT_EQ(scheduled.rule, "gpu_attention");
    const tir::PrimFuncRef loops = passes::lower_math(*scheduled.func);
    for (int64_t m : {1, 255, 256, 257, 600}) {
      RandomStream stream(static_cast<uint64_t>(m), "weighing");
      std::vector<HostTensor> found = {HostTensor::zeros(kF32, {3, m, 3}),
                                       HostTensor::zeros(kF32, {m, 4}),
                                       HostTensor::zeros(kF32, {3, 4})};
      for (size_t p : {0, 1}) {
        for (int64_t i = 0; i < found[p].size(); ++i) found[p].set_f64(i, 4 * stream.unit() - 2);
      }
      for (int64_t i = m; i < 3 * m; ++i) {
        found[0].set_f64(3 * i, 1);
        if (i < m + m / 2 || i >= 2 * m) found[0].set_f64(3 * i + 1, -HUGE_VAL);
      }
      std::vector<HostTensor> expected = found;
      interp::run_prim_func(*program, expected, {3, m});
      interp::run_prim_func(*loops, found, {3, m});
      for (int64_t i = 0; i < 12; ++i) {
        const double a = found[2].at_f64(i), b = expected[2].at_f64(i);
        EXPECT_TRUE(std::fabs(a - b) < 1e-5 || (std::isnan(a) && std::isnan(b)))
            << lowest << " " << m << " " << i << ": " << a << ", not " << b;
      }
    }
  }
}

TEST(GpuRules, ReductionsAlongMemory) {
  Var n = make_var("n"), m = make_var("m");
  std::vector<Sizes> sizes = each("m", {1, 15, 64, 65, 300}, {{"n", 5}});
  sizes.push_back({{"n", 0}, {"m", 5}});
  for (const char* op : {"sum", "mean", "max", "min", "prod"}) {
    for (DType dtype : {kF32, kF16, kI32}) {
      if (dtype == kI32 && std::string(op) == "mean") continue;
      const bool factors = std::string(op) == "prod" && is_float(dtype);
      expect_right_everywhere(operator_program(op, {{{n, m}, dtype}}, sizes, kLast,
                                               factors ? near_one() : uniform(-2, 2)),
                              "gpu_reduction");
    }
  }
  for (const char* op : {"all", "any"}) {
    expect_right_everywhere(operator_program(op, {{{n, m}, DType::kBool}}, sizes, kLast),
                            "gpu_reduction");
  }
  // Several teams per group, and a reduction over a whole tensor.
  expect_right_everywhere(
      operator_program("sum", {{{n, 40}, kF32}}, each("n", {0, 1, 7, 9}), kLast), "gpu_reduction");
  expect_right_everywhere(operator_program("sum", {{{n, 3, 5}, kF32}}, each("n", {1, 2, 70})),
                          "gpu_reduction");
}

TEST(GpuRules, FourNeighborsPerThread) {
  Var n = make_var("n");
  for (int64_t columns : {4, 64}) {
    expect_right_everywhere(operator_program("silu", {{{n, columns}, kF32}}, each("n", {0, 1, 17})),
                            "gpu_elementwise");
    expect_right_everywhere(
        operator_program("add", {{{n, columns}, kI32}, {{columns}, kI32}}, each("n", {0, 1, 17})),
        "gpu_elementwise");
  }
}

TEST(GpuRules, PointwiseProgramsFallBack) {
  Var n = make_var("n");
  // Neighboring points are neighbors in memory.
  KernelProgram columns =
      operator_program("sum", {{{n, 64}, kF32}}, {}, {{"axes", std::vector<int64_t>{0}}});
  EXPECT_EQ(gpu_rule(*columns.func), "fallback");
  EXPECT_EQ(gpu_rule(*operator_program("sum", {{{n, 4}, kF32}}, {}, kLast).func), "fallback");
  EXPECT_EQ(gpu_rule(*operator_program("silu", {{{n, 63}, kF32}}, {}).func), "fallback");
  EXPECT_EQ(gpu_rule(*operator_program("silu", {{{n, 64}, kF16}}, {}).func), "fallback");
  KernelProgram product = operator_program("matmul", {{{n, 64}, kF32}, {{64, 64}, kF32}}, {});
  EXPECT_EQ(gpu_rule(*product.func, "opencl:schedule=fallback"), "fallback");
}

// If the threads of a group are loop iterations, the schedules are those of CPUs. Without a
// preparation step, weights are not packed.
TEST(GpuRules, CpusUseTheirOwnRules) {
  Var n = make_var("n");
  KernelProgram rows = operator_program("softmax", {{{n, 64}, kF32}}, {});
  KernelProgram product =
      operator_program("matmul", {{{n, 64}, kF32}, {{64, 64}, kF32}}, {}, kTransposed);
  EXPECT_EQ(gpu_rule(*rows.func, "opencl"), "cpu_rows");
  EXPECT_EQ(gpu_rule(*rows.func, "opencl:groups=cpu,for=rtx"), "cpu_rows");
  EXPECT_EQ(gpu_rule(*rows.func, "opencl:for=rtx"), "gpu_rows");
  tir::PrimFunc weights = *product.func;
  weights.facts.weights = {1};
  EXPECT_EQ(gpu_rule(weights, "opencl"), "cpu_packed");
  EXPECT_NE(gpu_rule(weights, "opencl:index=32"), "cpu_packed");
}

TEST(GpuRules, ADeviceWithoutLocalMemoryHasTheFallback) {
  Var n = make_var("n");
  KernelProgram product =
      operator_program("matmul", {{{n, 64}, kF32}, {{64, 64}, kF32}}, {}, kTransposed);
  KernelProgram rows = operator_program("softmax", {{{n, 63}, kF32}}, {});
  for (int64_t bytes : {0, 100}) {
    target::Target target = target::parse_target("opencl:groups=gpu");
    target.description.limits.max_local_memory = bytes;
    EXPECT_EQ(schedule::schedule_for(*product.func, target).rule, "fallback");
    EXPECT_EQ(schedule::schedule_for(*rows.func, target).rule, "fallback");
  }
}

// Stores of narrow elements are part of words there, whatever the schedule.
TEST(GpuRules, ADeviceWithoutNarrowStoresHasTheSameSchedules) {
  Var n = make_var("n");
  target::Target target = target::parse_target("opencl:groups=gpu");
  const KernelProgram rows = operator_program("softmax", {{{n, 64}, kF16}}, {});
  const KernelProgram product =
      operator_program("matmul", {{{n, 64}, kF16}, {{64, 64}, kF16}}, {}, kTransposed);
  for (const KernelProgram* kernel : {&rows, &product}) {
    const std::string before = schedule::schedule_for(*kernel->func, target).rule;
    EXPECT_NE(before, "fallback");
    target::Target other = target;
    other.description.features.narrow_stores = false;
    EXPECT_EQ(schedule::schedule_for(*kernel->func, other).rule, before);
  }
}

// A group's result does not depend on the group or on how many items it processed before.
TEST(GpuRules, EqualRowsGiveEqualBits) {
  KernelProgram kernel = operator_program("softmax", {{{40, 70}, kF32}}, {{}});
  tir::PrimFuncRef loops = passes::lower_math(
      *schedule::schedule_for(*kernel.func, target::parse_target("opencl:groups=gpu")).func);
  std::vector<HostTensor> arguments = kernel.arguments({});
  for (int64_t i = 70; i < arguments[0].size(); ++i) {
    arguments[0].set_f64(i, arguments[0].at_f64(i % 70));
  }
  interp::run_prim_func(*loops, arguments, {});
  for (int64_t i = 70; i < arguments[1].size(); ++i) {
    ASSERT_EQ(arguments[1].at_f64(i), arguments[1].at_f64(i % 70)) << i;
  }
}

}  // namespace
}  // namespace tapml::testing
