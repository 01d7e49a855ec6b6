// Hand-written tensor programs as kernels, and checks that legalization inserts.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "pipeline/compile.h"
#include "relax/visit.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

const char* const kDouble = R"(
prim def twice(a: Buffer((m, 4), f32), out b: Buffer((m, 4), f32), m: i64) {
  for i in serial(m) { for j in serial(4) { b[i, j] = a[i, j] * f32(2.0) } }
})";

// Legalizes a module from user input; the result prints and parses.
Module legalized_input(const std::string& text) {
  Module module = text::parse("module\n" + text, "test");
  analysis::verify_input(module, "test");
  Module result = legalize(module);
  analysis::verify(result, "legalize");
  build::check_annotations(result, "legalize");
  EXPECT_TRUE(text::structural_equal(text::parse(text::print(result), "again"), result));
  return result;
}

std::string kernel_of(const Module& module) {
  std::string found;
  for (const auto& [name, function] : module.functions) {
    if (is_kernel(function.get())) found = name;
  }
  return found;
}

TEST(Programs, BecomeKernelsThatAreTheirOwnSpec) {
  Module module = legalized_input(R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = call_tir(@twice, (x,), Tensor((n, 4), f32))
    output y
  }
  return y
})" + std::string(kDouble));
  std::string kernel = kernel_of(module);
  EXPECT_EQ(kernel.substr(0, 6), "twice_");
  EXPECT_EQ(kernel.size(), 6u + 8u);
  EXPECT_EQ(programs_of(kernel_spec(module, kernel)), std::vector<std::string>{"twice"});
  EXPECT_TRUE(text::structural_equal(kernel_implementation(module, kernel).body,
                                     tir::as_prim_func(module.find("twice"))->body));
  Module alone = kernel_alone(module, kernel);
  EXPECT_EQ(alone.functions.size(), 3u);
  EXPECT_NO_THROW(analysis::verify(alone));

  // Another program of the same name is another kernel.
  std::string other = kDouble;
  other.replace(other.find("2.0"), 3, "3.0");
  Module changed = legalized_input(R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = call_tir(@twice, (x,), Tensor((n, 4), f32))
    output y
  }
  return y
})" + other);
  EXPECT_NE(kernel_of(changed), kernel);
}

TEST(Programs, FuseWithTheirNeighbors) {
  Module module = text::parse(R"(module
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = silu(x)
    b: Tensor((n, 4), f32) = call_tir(@twice, (a,), Tensor((n, 4), f32))
    c: Tensor((n, 4), f32) = exp(b)
    output c
  }
  return c
})" + std::string(kDouble),
                              "test");
  Module fixed = pipeline::form_kernels(module, {.dump_folder = "", .verify = true});
  std::string kernel = kernel_of(fixed);
  EXPECT_EQ(kernel.substr(0, 15), "silu_twice_exp_") << text::print(fixed);
  EXPECT_EQ(kernel_alone(fixed, kernel).functions.size(), 3u);
}

TEST(Programs, ArgumentsThatMayNotFitAreChecked) {
  const std::string add = R"(
prim def add2(a: Buffer((m,), f32), b: Buffer((m,), f32), out c: Buffer((m,), f32), m: i64) {
  for i in serial(m) { c[i] = a[i] + b[i] }
})";
  Module module = legalized_input(R"(
def main(x: Tensor((n,), f32), y: Tensor((k,), f32)) -> Tensor((n,), f32) {
  dataflow {
    z: Tensor((n,), f32) = call_tir(@add2, (x, y), Tensor((n,), f32))
    output z
  }
  return z
})" + add);
  std::string text = text::print(module);
  EXPECT_NE(text.find("b_of_add2: Tensor((n,), f32) = match_cast(y, Tensor((n,), f32))"),
            std::string::npos)
      << text;
  // An output whose shape may differ.
  module = legalized_input(R"(
def main(x: Tensor((n,), f32), s: Shape((k,))) -> Tensor((k,), f32) {
  dataflow {
    z: Tensor((k,), f32) = call_tir(@add2, (x, x), Tensor((k,), f32))
    output z
  }
  return z
})" + add);
  text = text::print(module);
  EXPECT_NE(text.find("z: Tensor((k,), f32) = match_cast(result_of_add2"), std::string::npos)
      << text;
  testing::expect_user_error(
      [&] {
        legalized_input(R"(
def main(x: Tensor((n,), f32), y: Tensor((n + 1,), f32)) -> Tensor((n,), f32) {
  z: Tensor((n,), f32) = call_tir(@add2, (x, y), Tensor((n,), f32))
  return z
})" + add);
      },
      {"'y'", "n + 1", "'b'"});
}

TEST(Programs, HaveAtMostEightTensors) {
  std::string params, args, sum = "f32(0.0)";
  for (int i = 0; i < 8; ++i) {
    params += "p" + std::to_string(i) + ": Buffer((4,), f32), ";
    args += std::string(i ? ", " : "") + "x";
    sum += " + p" + std::to_string(i) + "[i]";
  }
  testing::expect_user_error(
      [&] {
        legalized_input(
            "def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {\n"
            "y: Tensor((4,), f32) = call_tir(@f, (" +
            args +
            "), Tensor((4,), f32))\n"
            "return y }\nprim def f(" +
            params +
            "out y: Buffer((4,), f32)) {\n"
            "for i in serial(4) { y[i] = " +
            sum + " } }");
      },
      {"@f", "at most 8", "9"});
}

TEST(Checks, AreInsertedWhereDimensionsMayDiffer) {
  Module module = legalized_input(R"(
def main(x: Tensor((m, k), f32), w: Tensor((n, 8), f32)) -> Tensor((m, 8), f32) {
  dataflow {
    y: Tensor((m, 8), f32) = matmul(x, w)
    z: Tensor((m, 8), f32) = silu(y)
    output z
  }
  return z
})");
  std::string text = text::print(module);
  EXPECT_NE(text.find("b_of_matmul: Tensor((k, 8), f32) = match_cast(w, Tensor((k, 8), f32))"),
            std::string::npos)
      << text;
  // No check if the dimensions are known to agree, and one for each operand of a concat.
  text = text::print(legalized_input(R"(
def main(x: Tensor((m, k), f32), w: Tensor((k, 8), f32)) -> Tensor((m, 8), f32) {
  y: Tensor((m, 8), f32) = matmul(x, w)
  return y
})"));
  EXPECT_EQ(text.find("match_cast"), std::string::npos) << text;
  text = text::print(legalized_input(R"(
def main(a: Tensor((m, 2), f32), b: Tensor((k, 2), f32), c: Tensor((n, 2), f32))
    -> Tensor((m, 6), f32) {
  y: Tensor((m, 6), f32) = concat((a, b, c)) {axis: 1}
  return y
})"));
  EXPECT_NE(text.find("xs1_of_concat"), std::string::npos) << text;
  EXPECT_NE(text.find("xs2_of_concat"), std::string::npos) << text;
}

TEST(Checks, OfPossibleBroadcasts) {
  std::string text = text::print(legalized_input(R"(
def main(x: Tensor((4,), f32), y: Tensor((n,), f32)) -> Tensor((4,), f32) {
  z: Tensor((4,), f32) = add(x, y)
  return z
})"));
  EXPECT_NE(text.find("b_of_add"), std::string::npos) << text;
  EXPECT_NE(text.find("(x, y), Tensor((4,), f32))"), std::string::npos) << text;
}

}  // namespace
}  // namespace tapml::passes
