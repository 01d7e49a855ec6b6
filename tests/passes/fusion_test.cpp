// Legalization and fusion as text: programs before and after.
#include <gtest/gtest.h>

#include <set>

#include "build/block_builder.h"
#include "checked.h"
#include "ir/exceptions.h"
#include "passes/dead_code.h"
#include "passes/fold_constants.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

using Names = std::vector<std::string>;

TEST(Legalize, OutlinesAPairAndSharesEqualSpecs) {
  Module module = legalize(text::parse(R"(
def main(x: Tensor((n, 4), f32), y: Tensor((m, 4), f32)) -> Tensor((m, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x) @origin("layers.0")
    b: Tensor((m, 4), f32) = exp(y) @origin("layers.1")
    output b
  }
  return b
}
)",
                                       "test"));
  // One kernel and its implementation: the symbolic variables' names do not matter.
  EXPECT_EQ(module.functions.size(), 3u);
  EXPECT_EQ(kernels_of(module), (Names{"exp", "exp"}));
  std::string printed = text::print(*module.find("main"), "main");
  EXPECT_NE(printed.find("@origin(\"layers.1\")"), std::string::npos) << printed;
}

TEST(Legalize, PassesSymbolsThatNoTensorGives) {
  // Figure 5 of the Relax paper: the tensors only determine 2*n, so n is passed as a shape.
  Module module = legalize(text::parse(R"(
def main(s: Shape((n,)), x: Tensor((n * 2,), f32), y: Tensor((n * 2,), f32)) -> Tensor((n * 2,), f32) {
  dataflow {
    a: Tensor((n * 2,), f32) = add(x, y)
    output a
  }
  return a
}
)",
                                       "test"));
  std::string printed = text::print(*module.find("main"), "main");
  EXPECT_NE(printed.find("(x, y), shape(n),"), std::string::npos) << printed;
  for (const auto& [name, function] : module.functions) {
    if (!is_kernel(function.get())) continue;
    const auto& params = relax::as_relax_function(function.get())->params;
    EXPECT_EQ(relax::to_string(params.back()->annotation), "Shape((n,))");
    EXPECT_EQ(kernel_implementation(module, name).scalars.size(), 1u);
  }
}

TEST(Legalize, ViewsStayOperators) {
  Module module = legalize(text::parse(R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n * 4,), f32) {
  dataflow {
    a: Tensor((n * 4,), f32) = reshape(x, shape(n * 4))
    output a
  }
  return a
}
)",
                                       "test"));
  EXPECT_EQ(module.functions.size(), 1u);
}

TEST(FuseOps, ElementwiseChainBecomesOneKernel) {
  EXPECT_EQ(kernels_of(fused(R"(
def main(s: Shape((n,)), x: Tensor((n * 2,), f32), y: Tensor((n * 2,), f32)) -> Tensor((n * 2,), f32) {
  dataflow {
    a: Tensor((n * 2,), f32) = add(x, y)
    b: Tensor((n * 2,), f32) = silu(a)
    output b
  }
  return b
}
)")),
            (Names{"add_silu"}));
}

TEST(FuseOps, EpilogueJoinsTheMatmul) {
  Module module = fused(R"(
def main(x: Tensor((n, 4), f32), w: Tensor((8, 4), f32), y: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = matmul(x, w) {transpose_b: true} @origin("gate")
    b: Tensor((n, 8), f32) = silu(a) @origin("act")
    c: Tensor((n, 8), f32) = multiply(b, y) @origin("mlp")
    output c
  }
  return c
}
)");
  EXPECT_EQ(kernels_of(module), (Names{"matmul_silu_multiply"}));
  relax::visit_bindings(relax::as_relax_function(module.find("main"))->body,
                        [](const relax::Binding& binding, bool) {
                          EXPECT_EQ(binding.origin, (Origin{"act", "gate", "mlp"}));
                        });
}

TEST(FuseOps, AValueReadTwiceInAGroupJoins) {
  const Names diamond = kernels_of(fused(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = silu(a)
    c: Tensor((n,), f32) = add(b, a)
    output c
  }
  return c
}
)"));
  EXPECT_EQ(diamond, (Names{"exp_silu_add"}));
}

TEST(FuseOps, AValueReadAfterTheBlockStaysApart) {
  EXPECT_EQ(kernels_of(fused(R"(
def main(x: Tensor((n,), f32)) -> Tuple(Tensor((n,), f32), Tensor((n,), f32)) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = silu(a)
    c: Tensor((n,), f32) = add(b, a)
    output a, c
  }
  return (a, c)
}
)")),
            (Names{"exp", "silu_add"}));
}

TEST(FuseOps, NeverTwoReductionsInOneKernel) {
  EXPECT_EQ(kernels_of(fused(R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = matmul(x, w)
    b: Tensor((n, 4), f32) = matmul(a, w)
    c: Tensor((n, 4), f32) = add(b, x)
    output c
  }
  return c
}
)")),
            (Names{"matmul", "matmul_add"}));
}

TEST(FuseOps, StopsAtSixTensors) {
  Module module = fused(R"(
def main(a: Tensor((n,), f32), b: Tensor((n,), f32), c: Tensor((n,), f32), d: Tensor((n,), f32), e: Tensor((n,), f32), f: Tensor((n,), f32), g: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    t1: Tensor((n,), f32) = add(a, b)
    t2: Tensor((n,), f32) = add(t1, c)
    t3: Tensor((n,), f32) = add(t2, d)
    t4: Tensor((n,), f32) = add(t3, e)
    t5: Tensor((n,), f32) = add(t4, f)
    t6: Tensor((n,), f32) = add(t5, g)
    output t6
  }
  return t6
}
)");
  for (const auto& [name, function] : module.functions) {
    if (is_kernel(function.get())) {
      EXPECT_LE(kernel_implementation(module, name).params.size(), 6u) << name;
    }
  }
  EXPECT_EQ(kernels_of(module), (Names{"add_add_add_add", "add_add"}));
}

TEST(FuseOps, AReductionWithAnotherReaderIsNoEpilogue) {
  // The sum is broadcast over the rows: its index differs from the reduction's.
  EXPECT_EQ(kernels_of(fused(R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 1), f32) = sum(x) {axes: [1], keepdims: true}
    b: Tensor((n, 4), f32) = divide(x, a)
    output b
  }
  return b
}
)")),
            (Names{"sum", "divide"}));
}

TEST(DeadCode, RemovesUnusedBindingsAndKernels) {
  Module module = eliminate_dead_code(legalize(text::parse(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor((n,), f32) = silu(a)
    c: Tensor((n,), f32) = cos(x)
    output c
  }
  return c
}
)",
                                                           "test")));
  EXPECT_EQ(kernels_of(module), (Names{"cos"}));
  EXPECT_EQ(module.functions.size(), 3u);
}

TEST(FoldConstants, EvaluatesOperatorsOnConstants) {
  Module module = eliminate_dead_code(fold_constants(text::parse(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((1,), f32) = full(shape(1)) {value: 4.0, dtype: f32}
    b: Tensor((1,), f32) = sqrt(a)
    c: Tensor((n,), f32) = multiply(x, b)
    output c
  }
  return c
}
)",
                                                                 "test")));
  std::string printed = text::print(module);
  EXPECT_NE(printed.find("multiply(x, const(f32, (1,), [2.0]))"), std::string::npos) << printed;
  EXPECT_EQ(printed.find("sqrt"), std::string::npos) << printed;
}

TEST(Passes, EveryPhasePrintsAndParses) {
  Module module = text::parse(R"(
def main(x: Tensor((n, 4), f32), w: Tensor((8, 4), f32), y: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = matmul(x, w) {transpose_b: true}
    b: Tensor((n, 8), f32) = add(a, y)
    output b
  }
  return b
}
)",
                              "test");
  for (auto* pass : {legalize, annotate_patterns, fuse_ops, fuse_tensor_ir, eliminate_dead_code}) {
    module = pass(module);
    std::string difference;
    EXPECT_TRUE(text::structural_equal(text::parse(text::print(module), "printed"), module,
                                       {.difference = &difference}))
        << difference;
  }
}

}  // namespace
}  // namespace tapml::passes
