// Patterns: programs before and after, near misses, and invalid patterns.
#include "passes/match.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "interp/interpreter.h"
#include "passes/dead_code.h"
#include "passes/fold_constants.h"
#include "passes/fuse_ops.h"
#include "passes/fuse_tensor_ir.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "passes/outline_group.h"
#include "passes/partial_evaluate.h"
#include "passes/simplify_graph.h"
#include "support/attention_pattern.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

using ::tapml::testing::expect_user_error;
using ::tapml::testing::kAttentionPattern;

std::string attention_program(const std::string& width, const std::string& scaled) {
  const std::string t = "Tensor((2, 3, m, " + width + "), f32)";
  const std::string s = "Tensor((2, 3, m, m), f32)";
  return "def main(q: " + t + ", k: " + t + ", v: " + t + ", scale: Tensor((), f32)) -> " + t +
         " {\n"
         "  dataflow {\n"
         "    a: " +
         s +
         " = matmul(q, k) {transpose_b: true} @origin(\"layers.0.attention\")\n"
         "    b: " +
         s + " = " + scaled +
         "\n"
         "    e: " +
         s +
         " = softmax(b) {axis: -1}\n"
         "    f: " +
         t +
         " = matmul(e, v)\n"
         "    g: " +
         t +
         " = exp(f)\n"
         "    output g\n"
         "  }\n"
         "  return g\n"
         "}\n";
}

// Functions that will become one kernel.
std::vector<const relax::Function*> groups_of(const Module& module) {
  std::vector<const relax::Function*> groups;
  for (const auto& [name, function] : module.functions) {
    const auto* group = relax::as_relax_function(function.get());
    if (group && group->facts.fused) groups.push_back(group);
  }
  return groups;
}

Module matched(const std::string& source) {
  return checked(match(checked(text::parse(source, "test"))));
}

TEST(Match, CutsOutAndPrintsTheGroup) {
  EXPECT_EQ(text::print(matched(R"(
def main(x: Tensor((n, 8), f32), w: Tensor((8, 4), f32), b: Tensor((4,), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = matmul(x, w) @origin("up")
    z: Tensor((n, 4), f32) = add(b, y)
    r: Tensor((n, 4), f32) = relu(z) @origin("act")
    output r
  }
  return r
}

def linear(x: Tensor((m, k), f32), w: Tensor((k, l), f32), b: Tensor((l,), f32)) -> Object {pattern: true} {
  dataflow {
    y: Object = matmul(x, w) {transpose_b: false}
    z: Object = add(y, b)
    r: Object = op "silu|relu"(z)
    output r
  }
  return r
}
)")),
            R"(module {fusion_policy: "default-2+patterns:41c9b060"}

def fused(
    x0: Tensor((n, 8), f32),
    x1: Tensor((8, 4), f32),
    x2: Tensor((4,), f32)
) -> Tensor((n, 4), f32) {fused: true} {
  dataflow {
    v0: Tensor((n, 4), f32) = matmul(x0, x1)
    v1: Tensor((n, 4), f32) = add(x2, v0)
    v2: Tensor((n, 4), f32) = relu(v1)
    output v2
  }
  return v2
}

def main(
    x: Tensor((n, 8), f32),
    w: Tensor((8, 4), f32),
    b: Tensor((4,), f32)
) -> Tensor((n, 4), f32) {
  dataflow {
    r: Tensor((n, 4), f32) = @fused(x, w, b) @origin("act", "up")
    output r
  }
  return r
}
)");
}

TEST(Match, AttentionBecomesOneKernel) {
  Module module = matched(attention_program("64", "multiply(scale, a)") + kAttentionPattern);
  ASSERT_EQ(groups_of(module).size(), 1u);
  for (auto* pass : {legalize, annotate_patterns, fuse_ops, fuse_tensor_ir, eliminate_dead_code}) {
    module = checked(pass(module));
  }
  std::vector<std::string> kernels;
  for (const auto& [name, function] : module.functions) {
    if (!is_kernel(function.get())) continue;
    kernels.push_back(operators_of(kernel_spec(module, name)));
  }
  EXPECT_EQ(kernels, (std::vector<std::string>{"exp", "matmul_multiply_softmax_matmul"}));
}

TEST(Match, ARepeatedLayerMatchesEachTime) {
  Module module = matched(R"(
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = exp(x)
    b: Tensor((n, 8), f32) = negative(a)
    c: Tensor((n, 8), f32) = exp(b)
    d: Tensor((n, 8), f32) = negative(c)
    output d
  }
  return d
}

def twice(x: Tensor(ndim=2, f32)) -> Object {pattern: true} {
  dataflow {
    a: Object = exp(x)
    b: Object = negative(a)
    output b
  }
  return b
}
)");
  EXPECT_EQ(groups_of(module).size(), 2u);
}

// Near misses: the program does not change.
struct NearMiss {
  const char* name;
  const char* width;
  const char* scaled;
  const char* from;
  const char* to;
};

class MatchNearMiss : public ::testing::TestWithParam<NearMiss> {};

TEST_P(MatchNearMiss, StaysApart) {
  const NearMiss& miss = GetParam();
  std::string program = attention_program(miss.width, miss.scaled);
  if (miss.from) {
    size_t at = program.find(miss.from);
    ASSERT_NE(at, std::string::npos);
    program.replace(at, std::string(miss.from).size(), miss.to);
  }
  EXPECT_TRUE(groups_of(matched(program + kAttentionPattern)).empty());
}

INSTANTIATE_TEST_SUITE_P(
    All, MatchNearMiss,
    ::testing::Values(
        NearMiss{"WhereTheConditionFails", "129", "multiply(a, scale)", nullptr, nullptr},
        NearMiss{"WhereTheConditionIsUnknown", "w", "multiply(a, scale)", nullptr, nullptr},
        NearMiss{"AnotherOperator", "64", "add(a, scale)", nullptr, nullptr},
        NearMiss{"AnotherAttribute", "64", "multiply(a, scale)", "axis: -1", "axis: 2"},
        NearMiss{"AValueInsideIsUsedOutside", "64", "multiply(a, scale)", "output g",
                 "output g, e"}),
    [](const auto& info) { return info.param.name; });

TEST(Match, OneSymbolMatchesOneExpression) {
  auto groups = [](const std::string& columns) {
    return groups_of(matched(R"(
def main(x: Tensor((n, )" + columns +
                             R"(), f32)) -> Tensor((n, )" + columns + R"(), f32) {
  dataflow {
    a: Tensor((n, )" + columns +
                             R"(), f32) = exp(x)
    output a
  }
  return a
}

def square(x: Tensor((m, m), f32)) -> Object {pattern: true} {
  dataflow {
    a: Object = exp(x)
    output a
  }
  return a
}
)"))
        .size();
  };
  EXPECT_EQ(groups("n"), 1u);
  EXPECT_EQ(groups("n + 0*n"), 1u);
  EXPECT_EQ(groups("4"), 0u);
}

TEST(Match, EveryOrderOfCommutativeOperandsIsTried) {
  // The first order fits only the sum; the other one matches the whole.
  Module module = matched(R"(
def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = add(x, y)
    b: Tensor((n,), f32) = subtract(a, x)
    output b
  }
  return b
}

def p(u: Object, v: Object) -> Object {pattern: true} {
  dataflow {
    a: Object = add(u, v)
    b: Object = subtract(a, v)
    output b
  }
  return b
}
)");
  EXPECT_EQ(groups_of(module).size(), 1u);
}

// Matched operators that have no effect or a known value are not simplified: they still become a
// kernel.
TEST(Match, MatchedOperatorsAreNotSimplified) {
  for (const char* call : {"full(shape(4)) {dtype: f32, value: 2.0}", "cast(x) {dtype: f32}",
                           "reshape(x, shape(4))", "slice(x, shape(0), shape(4))"}) {
    const std::string value = call;
    const bool reads = value.find('x') != std::string::npos;
    Module module = matched("def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {\n dataflow {\n" +
                            ("  a: Tensor((4,), f32) = " + value) +
                            "\n  b: Tensor((4,), f32) = cumsum(a) {axis: 0}\n  output b\n }\n" +
                            " return b\n}\ndef p(" + (reads ? "x: Object" : "") +
                            ") -> Object {pattern: true} {\n dataflow {\n  a: Object = " + value +
                            "\n  output a\n }\n return a\n}\n");
    ASSERT_EQ(groups_of(module).size(), 1u) << call;
    for (Pass pass : {simplify_graph, fold_constants, partial_evaluate, legalize, annotate_patterns,
                      fuse_ops, fuse_tensor_ir}) {
      module = checked(pass(module));
    }
    const relax::Function* main = relax::as_relax_function(module.find("main"));
    EXPECT_TRUE(relax::is_call_tir(relax::body_of(*main).blocks.at(0).bindings.at(0).value))
        << call << "\n"
        << text::print(module);
  }
}

void expect_refused(const std::string& body, const std::vector<std::string>& parts) {
  expect_user_error(
      [&] {
        match(text::parse("def p(x: Object) -> Object {pattern: true} {\n" + body + "}\n", "test"));
      },
      parts);
}

TEST(Match, RefusesPatternsThatCannotMatch) {
  expect_refused("return x\n", {"a pattern is not one dataflow block", "pattern @p"});
  expect_refused("dataflow {\n a: Object = slu(x)\n output a\n }\n return a\n",
                 {"no operator is called 'slu'", "pattern @p, binding a"});
  expect_refused("dataflow {\n a: Object = unique(x)\n output a\n }\n return a\n",
                 {"operator unique cannot be part of a pattern"});
  expect_refused("dataflow {\n a: Object = exp(x)\n b: Object = exp(x)\n output b\n }\n return b\n",
                 {"a pattern's result does not need 'a'"});
  expect_refused("dataflow {\n a: Object = exp(x)\n output a\n }\n return x\n",
                 {"a pattern does not return its last call", "expected: a", "found: x"});
  expect_refused(
      "dataflow {\n a: Object = zeros_like(x)\n b: Object = (x, a)\n output b\n }\n return b\n",
      {"a pattern binds something other than a call", "binding b"});
}

}  // namespace
}  // namespace tapml::passes
