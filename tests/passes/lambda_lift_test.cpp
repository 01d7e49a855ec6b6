#include "passes/lambda_lift.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "checked.h"
#include "passes/dead_code.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

// Lifts, verifies, and lifts again without a change.
Module lift(const std::string& source) {
  Module module = lambda_lift(text::parse(source, "test"));
  analysis::verify(module, "lambda_lift");
  build::check_annotations(module, "lambda_lift");
  EXPECT_EQ(text::print(lambda_lift(module)), text::print(module));
  return module;
}

TEST(LambdaLift, CapturesBecomeParameters) {
  Module module = lift(R"(
def main(x: Tensor((n,), f32)) -> Callable((Tensor((m,), f32),), Tensor((n,), f32)) {
  f: Callable((Tensor((m,), f32),), Tensor((n,), f32)) = def (y: Tensor((m,), f32)) -> Tensor((n,), f32) {
    z: Tensor((n,), f32) = match_cast(y, Tensor((n,), f32))
    w: Tensor((n,), f32) = add(z, x)
    return w
  }
  return f
}
)");
  EXPECT_EQ(text::print(module), text::print(text::parse(R"(module

def main(x: Tensor((n,), f32)) -> Callable((Tensor((m,), f32),), Tensor((n,), f32)) {
  f: Callable((Tensor((m,), f32),), Tensor((n,), f32)) = def (y: Tensor((m,), f32)) -> Tensor((n,), f32) {
    r: Tensor((n,), f32) = @main.f(shape(n), x, y)
    return r
  }
  return f
}

def main.f(s: Shape((n,)), x: Tensor((n,), f32), y: Tensor((m,), f32)) -> Tensor((n,), f32) {private: true, source.n: ["dimension 0 of parameter x of main"]} {
  z: Tensor((n,), f32) = match_cast(y, Tensor((n,), f32))
  w: Tensor((n,), f32) = add(z, x)
  return w
}
)",
                                                         "expected")));
}

TEST(LambdaLift, CalledLambdasAreNoLongerValues) {
  Module module = lift(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  f: Callable((Tensor((m,), f32),), Tensor((m,), f32)) = def (y: Tensor((m,), f32)) -> Tensor((m,), f32) {
    z: Tensor((m,), f32) = negative(y)
    return z
  }
  g: Callable((Tensor((m,), f32),), Tensor((m,), f32)) = def (y: Tensor((m,), f32)) -> Tensor((m,), f32) {
    z: Tensor((m,), f32) = f(y)
    w: Tensor((m,), f32) = f(z)
    return w
  }
  y: Tensor((n,), f32) = g(x)
  return y
}
)");
  EXPECT_EQ(text::print(*module.find("main"), "main"),
            R"(def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @main.g(x)
  return y
}
)");
  EXPECT_NE(text::print(*module.find("main.g"), "main.g").find("= @main.f(y)"), std::string::npos);
}

TEST(LambdaLift, RecursionPassesCapturesOn) {
  Module module = lift(R"(
def main(x: Tensor((n,), f32), k0: Prim(i64, k)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = add(x, x)
  f: Callable((Prim(i64, i), Tensor((n,), f32)), Tensor((n,), f32)) = def (i0: Prim(i64, i), z: Tensor((n,), f32)) -> Tensor((n,), f32) {
    r: Tensor((n,), f32) = if (prim(i < k)) {
      a: Tensor((n,), f32) = add(z, y)
      t: Tensor((n,), f32) = f(prim(i + 1), a)
      yield t
    } else {
      yield z
    }
    return r
  }
  r: Tensor((n,), f32) = f(prim(0), x)
  return r
}
)");
  std::string body = text::print(*module.find("main.f"), "main.f");
  EXPECT_NE(body.find("    s: Shape((n, k)),\n    y: Tensor((n,), f32),\n    i0: Prim(i64, i),\n"
                      "    z: Tensor((n,), f32)\n"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find("t: Tensor((n,), f32) = @main.f(shape(n, k), y, prim(i + 1), a)"),
            std::string::npos)
      << body;
}

// Branches may use equal names for their lambdas: the names of the functions differ.
TEST(LambdaLift, NamesOfFunctionsAreDifferent) {
  std::string source = "def main(x0: Prim(i64), c: Prim(bool)) -> Prim(i64) {\n";
  constexpr int kBranches = 200;
  for (int i = 0; i < kBranches; ++i) {
    source += "  x" + std::to_string(i + 1) + ": Prim(i64) = if (c) {\n" +
              "    f: Callable((), Prim(i64)) = def () -> Prim(i64) { return x" +
              std::to_string(i) + " }\n    r: Prim(i64) = f()\n    yield r\n  } else { yield x" +
              std::to_string(i) + " }\n";
  }
  source += "  return x" + std::to_string(kBranches) + "\n}\n";
  Module module = checked(lambda_lift(checked(text::parse(source, "test"))));
  EXPECT_EQ(module.functions.size(), static_cast<size_t>(kBranches + 1));
  EXPECT_TRUE(module.functions.contains("main.f_" + std::to_string(kBranches - 1)));
}

TEST(DeadCode, UnreachablePrivateFunctionsAreRemoved) {
  Module module = eliminate_dead_code(text::parse(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  pair: Tuple(Tensor((n,), f32), Tensor((n,), f32)) = (x, x)
  y: Tensor((n,), f32) = @a(x)
  return y
}
def a(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  y: Tensor((n,), f32) = negative(x)
  return y
}
def b(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  y: Tensor((n,), f32) = @c(x)
  return y
}
def c(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  y: Tensor((n,), f32) = @b(x)
  return y
}
)",
                                                  "test"));
  EXPECT_EQ(module.functions.size(), 2u);
  EXPECT_EQ(text::print(*module.find("main"), "main").find("pair"), std::string::npos);
}

}  // namespace
}  // namespace tapml::passes
