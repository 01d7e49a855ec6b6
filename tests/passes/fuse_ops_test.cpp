// Which kernels fusion joins, and which it keeps separate.
#include "passes/fuse_ops.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "passes/dead_code.h"
#include "passes/decompose.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "passes/simplify_graph.h"
#include "relax/visit.h"
#include "schedule/rules.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

Module optimized(const std::string& source) {
  return through({simplify_graph, decompose, legalize, annotate_patterns, fuse_ops, fuse_tensor_ir,
                  eliminate_dead_code},
                 source);
}

// The calls of main, in order: the operators of kernels, and views by name.
std::string calls_of(const Module& module) {
  std::string result;
  relax::visit_bindings(relax::as_relax_function(module.find("main"))->body,
                        [&](const relax::Binding& binding, bool) {
                          const auto* call = relax::as<relax::CallNode>(binding.value);
                          if (!call) return;
                          result += result.empty() ? "" : ", ";
                          result +=
                              relax::is_call_tir(binding.value)
                                  ? operators_of(kernel_spec(module, relax::call_tir_callee(*call)))
                                  : "(" + relax::called_operator(binding.value) + ")";
                        });
  return result;
}

// Bindings of one dataflow block over x and y of shape (n, 8), v of shape (8,), m of shape (n, 1);
// `results` are its outputs.
std::string calls(const std::string& bindings, const std::string& results = "r",
                  const std::string& annotation = "Tensor((n, 8), f32)") {
  return calls_of(optimized(
      "def main(x: Tensor((n, 8), f32), y: Tensor((n, 8), f32), v: Tensor((8,), f32), "
      "m: Tensor((n, 1), f32), w: Tensor((8, 8), f32)) -> " +
      annotation + " {\n  dataflow {\n" + bindings + "    output " + results + "\n  }\n  return " +
      (results.find(',') == std::string::npos ? results : "(" + results + ")") + "\n}\n"));
}

TEST(Diamonds, TwoWaysThatMeetAgainAreOneKernel) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = exp(x)
    b: Tensor((n, 8), f32) = negative(a)
    c: Tensor((n, 8), f32) = multiply(a, y)
    r: Tensor((n, 8), f32) = add(b, c)
)"),
            "exp_negative_multiply_add");
}

TEST(Diamonds, OneInsideOfAnother) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = negative(x)
    b: Tensor((n, 8), f32) = multiply(a, y)
    c: Tensor((n, 8), f32) = add(a, b)
    d: Tensor((n, 8), f32) = subtract(c, b)
    r: Tensor((n, 8), f32) = maximum(d, a)
)"),
            "negative_multiply_add_subtract_maximum");
}

TEST(Diamonds, APathThroughAnotherKernelKeepsThemApart) {
  // cumsum is a scan: it never joins a group, so `a` must be in memory.
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = negative(x)
    b: Tensor((n, 8), f32) = cumsum(a) {axis: 1}
    c: Tensor((n, 8), f32) = multiply(a, y)
    r: Tensor((n, 8), f32) = add(b, c)
)"),
            "negative, cumsum, multiply_add");
}

TEST(Diamonds, EpilogueOfAProductThatReadsItTwice) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = matmul(x, w)
    b: Tensor((n, 8), f32) = sigmoid(a)
    c: Tensor((n, 8), f32) = multiply(a, b)
    r: Tensor((n, 8), f32) = add(c, y)
)"),
            "matmul_sigmoid_multiply_add");
}

TEST(Cost, NothingJoinsInFrontOfAProduct) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = negative(x)
    r: Tensor((n, 8), f32) = matmul(a, w)
)"),
            "negative, matmul");
}

TEST(Cost, DoesNotRepeatWorkForABroadcast) {
  // A math function per row is not recomputed for each element of the row.
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 1), f32) = exp(m)
    r: Tensor((n, 8), f32) = multiply(x, a)
)"),
            "exp, multiply");
  // A negation is.
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 1), f32) = negative(m)
    r: Tensor((n, 8), f32) = multiply(x, a)
)"),
            "negative_multiply");
}

TEST(Cost, SumsTakeTheirProducers) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = multiply(x, y)
    b: Tensor((n,), f32) = sum(a) {axes: [1]}
    r: Tensor((n,), f32) = negative(b)
)",
                  "r", "Tensor((n,), f32)"),
            "multiply_sum_negative");
}

TEST(Cost, ExpressionsDoNotGrowWithoutBound) {
  std::string bindings = "    t0: Tensor((n, 8), f32) = multiply(x, x)\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "t" + std::to_string(i - 1);
    bindings += "    t" + std::to_string(i) + ": Tensor((n, 8), f32) = multiply(" + before + ", " +
                before + ")\n";
  }
  bindings += "    r: Tensor((n, 8), f32) = negative(t11)\n";
  // Each squares the previous value: as one expression, 2^12 leaves.
  EXPECT_EQ(calls(bindings),
            "multiply_multiply_multiply_multiply_multiply, "
            "multiply_multiply_multiply_multiply_multiply, multiply_multiply_negative");
}

TEST(Views, BetweenTwoKernelsBecomeIndices) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 8), f32) = add(x, y)
    b: Tensor((n, 2, 4), f32) = reshape(a, shape(n, 2, 4))
    c: Tensor((4, n, 2), f32) = permute(b) {axes: [2, 0, 1]}
    r: Tensor((4, n, 2), f32) = negative(c)
)",
                  "r", "Tensor((4, n, 2), f32)"),
            "add_reshape_permute_negative");
}

TEST(Views, ValuesThatAreReadOnceAreInlined) {
  const Module module = optimized(R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 2, 4), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = exp(x)
    b: Tensor((n, 2, 4), f32) = reshape(a, shape(n, 2, 4))
    r: Tensor((n, 2, 4), f32) = negative(b)
    output r
  }
  return r
}
)");
  EXPECT_EQ(calls_of(module), "exp_reshape_negative");
  for (const auto& [name, function] : module.functions) {
    if (!is_kernel(function.get())) continue;
    const tir::PrimFunc& loops = kernel_implementation(module, name);
    const std::string text =
        text::print(*schedule::schedule_for(loops, target::parse_target("cpu")).func, "kernel");
    EXPECT_EQ(text.find("alloc"), std::string::npos) << text;
  }
}

TEST(Views, AtTheInputsAndOutputsOfAGroupStayViews) {
  EXPECT_EQ(calls(R"(
    a: Tensor((n, 2, 4), f32) = reshape(x, shape(n, 2, 4))
    b: Tensor((n, 2, 4), f32) = negative(a)
    c: Tensor((n, 2, 4), f32) = exp(b)
    r: Tensor((n, 8), f32) = reshape(c, shape(n, 8))
)"),
            "(reshape), negative_exp, (reshape)");
}

TEST(Views, AfterAProductStayViews) {
  // Rotary embedding reads every element of the product twice, at other indices.
  EXPECT_EQ(calls_of(optimized(R"(
def main(x: Tensor((1, n, 8), f32), w: Tensor((8, 8), f32), p: Tensor((1,), i32), f: Tensor((2,), f32)) -> Tensor((1, n, 2, 4), f32) {
  dataflow {
    a: Tensor((1, n, 8), f32) = matmul(x, w)
    b: Tensor((1, n, 2, 4), f32) = reshape(a, shape(1, n, 2, 4))
    r: Tensor((1, n, 2, 4), f32) = rope(b, p, f)
    output r
  }
  return r
}
)")),
            "matmul, (reshape), rope");
}

TEST(Order, NothingMovesPastAnUpdate) {
  const Module module = optimized(R"(
def main(pool: Tensor((4, 2, 1, 4), f32), k: Tensor((1, n, 1, 4), f32), table: Tensor((1, p), i32), lengths: Tensor((1,), i32)) -> Tuple(Tensor((1, n, 1, 4), f32), Tensor((4, 2, 1, 4), f32)) {
  dataflow {
    a: Tensor((1, n, 1, 4), f32) = exp(k)
    u: Tensor((4, 2, 1, 4), f32) = kv_append(pool, k, table, lengths)
    r: Tensor((1, n, 1, 4), f32) = negative(a)
    output r, u
  }
  return (r, u)
}
)");
  EXPECT_EQ(calls_of(module), "exp, kv_append, negative");
}

// Figure 5 of the Relax paper: the tensors only determine 2*n, so n is a separate argument.
constexpr const char* kFigure5 = R"(
def main(x: Tensor((n * 2,), f32), s: Shape((n,))) -> Tensor((n * 2,), f32) {
  dataflow {
    a: Tensor((n * 2,), f32) = add(x, x)
    r: Tensor((n * 2,), f32) = relu(a)
    output r
  }
  return r
}
)";

TEST(Symbols, AGroupTakesSymbolsThatItsTensorsDoNotGive) {
  Module module = text::parse(kFigure5, "test");
  for (auto* pass : {legalize, annotate_patterns, fuse_ops}) module = pass(module);
  const auto* group = relax::as_relax_function(module.find("fused"));
  ASSERT_TRUE(group);
  ASSERT_EQ(group->params.size(), 2u);
  EXPECT_EQ(relax::to_string(group->params[0]->annotation), "Tensor((n*2,), f32)");
  EXPECT_EQ(relax::to_string(group->params[1]->annotation), "Shape((n,))");
  const std::string main = text::print(*module.find("main"), "main");
  EXPECT_NE(main.find("@fused(x, shape(n))"), std::string::npos) << main;
  EXPECT_EQ(calls_of(fuse_tensor_ir(module)), "add_relu");
}

TEST(Symbols, TheKernelTakesTheScalar) {
  const Module module = optimized(R"(
def main(y: Tensor((n - 1, 4), f32), s: Shape((n,))) -> Tensor((n - 1, 4), f32) {
  dataflow {
    a: Tensor((n - 1, 4), f32) = exp(y)
    r: Tensor((n - 1, 4), f32) = negative(a)
    output r
  }
  return r
}
)");
  EXPECT_EQ(calls_of(module), "exp_negative");
  for (const auto& [name, function] : module.functions) {
    if (!is_kernel(function.get())) continue;
    const tir::PrimFunc& loops = kernel_implementation(module, name);
    ASSERT_EQ(loops.scalars.size(), 1u);
    EXPECT_EQ(loops.scalars[0]->name, "n");
    EXPECT_EQ(relax::to_string(kernel_spec(module, name).params.back()->annotation), "Shape((n,))");
  }
  const std::string main = text::print(*module.find("main"), "main");
  EXPECT_NE(main.find("(y,), shape(n)"), std::string::npos) << main;
}

TEST(Loops, HandWrittenProgramsJoinByTheirLoops) {
  EXPECT_EQ(calls_of(optimized(R"(module

prim def rotate(a: Buffer((m, 8), f32), out b: Buffer((m, 8), f32), m: i64) {
  for i in serial(m) { for j in serial(8) { b[i, j] = a[i, (j + 4) % 8] } }
}

def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = call_tir(@rotate, (x,), Tensor((n, 8), f32))
    b: Tensor((n, 8), f32) = negative(a)
    r: Tensor((n, 8), f32) = add(b, x)
    output r
  }
  return r
}
)")),
            "rotate_negative_add");
}

// A view between two kernels becomes a kernel of the group, with a pattern kind like the others.
TEST(Loops, KernelsOfViewsHaveAPatternKind) {
  const Module module = through({legalize, annotate_patterns, fuse_ops}, R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((4*n,), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    b: Tensor((4*n,), f32) = reshape(a, shape(4*n))
    y: Tensor((4*n,), f32) = negative(b)
    output y
  }
  return y
}
)");
  const std::string found = text::print(module);
  EXPECT_NE(found.find("@reshape_"), std::string::npos) << found;
  EXPECT_EQ(text::print(annotate_patterns(module)), found);
}

}  // namespace
}  // namespace tapml::passes
