// Inlining: programs before and after, and calls that stay.
#include "passes/inline_functions.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

// Expects `main` after inlining `before`.
void expect_main(const std::string& before, const std::string& main) {
  Module module = checked(inline_functions(checked(text::parse(before, "before"))));
  Module alone;
  alone.functions["main"] = module.functions.at("main");
  EXPECT_EQ(text::print(alone), text::print(text::parse(main, "after")));
}

TEST(Inline, DataflowIntoDataflow) {
  expect_main(R"(
def twice(x: Tensor((n, m), f32)) -> Tensor((n, m), f32) {inline: true} {
  dataflow {
    a: Tensor((n, m), f32) = add(x, x)
    output a
  }
  return a
}

def four(x: Tensor((k,), f32)) -> Tensor((2, k), f32) {inline: true} {
  dataflow {
    y: Tensor((1, k), f32) = reshape(x, shape(1, k))
    b: Tensor((1, k), f32) = @twice(y)
    c: Tensor((2, k), f32) = concat((b, b)) {axis: 0}
    output c
  }
  return c
}

def main(z: Tensor((5*p,), f32)) -> Tensor((2, 5*p), f32) {
  dataflow {
    e: Tensor((2, 5*p), f32) = @four(z) @origin("layers.0")
    r: Tensor((2, 5*p), f32) = exp(e)
    output r
  }
  return r
}
)",
              R"(
def main(z: Tensor((5*p,), f32)) -> Tensor((2, 5*p), f32) {
  dataflow {
    y: Tensor((1, 5*p), f32) = reshape(z, shape(1, 5*p)) @check("", "y", "four") @origin("layers.0")
    a: Tensor((1, 5*p), f32) = add(y, y) @check("", "a", "twice") @origin("layers.0")
    b: Tensor((1, 5*p), f32) = a @check("", "b", "four") @origin("layers.0")
    c: Tensor((2, 5*p), f32) = concat((b, b)) {axis: 0} @check("", "c", "four") @origin("layers.0")
    e: Tensor((2, 5*p), f32) = c @origin("layers.0")
    r: Tensor((2, 5*p), f32) = exp(e)
    output r
  }
  return r
}
)");
}

TEST(Inline, ChecksOfTheCallAreKept) {
  expect_main(R"(
def pair(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Tensor((n,), f32) {inline: true} {
  a: Tensor((n,), f32) = add(x, y)
  return a
}

def main(u: Tensor((k,), f32), v: Tensor((m,), f32)) -> Tensor((k,), f32) {
  r: Tensor((k,), f32) = @pair(u, v)
  return r
}
)",
              R"(
def main(u: Tensor((k,), f32), v: Tensor((m,), f32)) -> Tensor((k,), f32) {
  y_of_pair: Tensor((k,), f32) = match_cast(v, Tensor((k,), f32)) @check("parameter y", "", "pair")
  a: Tensor((k,), f32) = add(u, y_of_pair) @check("", "a", "pair")
  r: Tensor((k,), f32) = a
  return r
}
)");
}

TEST(Inline, CallsThatStay) {
  const std::string program = R"(
def loop(x: Tensor((n,), f32)) -> Tensor((n,), f32) {inline: true} {
  y: Tensor((n,), f32) = @loop(x)
  return y
}

def branch(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor((n,), f32) {inline: true} {
  y: Tensor((n,), f32) = if (c) {
    yield x
  } else {
    z: Tensor((n,), f32) = exp(x)
    yield z
  }
  return y
}

def other(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = exp(x)
  return y
}

def main(x: Tensor((n,), f32), c: Tensor((), bool), u: Tensor(ndim=1, f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = @branch(x, c)
    output a
  }
  b: Tensor((n,), f32) = @other(a)
  d: Tensor(ndim=1, f32) = @branch(u, c)
  e: Tensor((n,), f32) = @loop(b)
  return e
}
)";
  Module module = inline_functions(checked(text::parse(program, "test")));
  EXPECT_EQ(text::print(module), text::print(text::parse(program, "test")));
}

TEST(Inline, BranchesOutsideOfDataflowBlocks) {
  Module module = checked(inline_functions(text::parse(R"(
def branch(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor((n,), f32) {inline: true} {
  y: Tensor((n,), f32) = if (c) {
    yield x
  } else {
    z: Tensor((n,), f32) = exp(x)
    yield z
  }
  return y
}

def main(x: Tensor((4,), f32), c: Tensor((), bool)) -> Tensor((4,), f32) {
  a: Tensor((4,), f32) = @branch(x, c)
  b: Tensor((4,), f32) = @branch(a, c)
  return b
}
)",
                                                       "test")));
  const std::string text = text::print(module.functions.count("main") ? module : Module());
  size_t main = text.find("def main");
  EXPECT_EQ(text.find("@branch", main), std::string::npos) << text;
  EXPECT_NE(text.find("z: Tensor((4,), f32) = exp(a)", main), std::string::npos) << text;
}

// f1 calls f0 twice, f2 calls f1 twice, and so on: calls that would double the code at each level
// stay.
TEST(Inline, GrowthIsLimited) {
  std::string text =
      "def f0(x: Tensor((4,), f32)) -> Tensor((4,), f32) {inline: true} {\n"
      "  a: Tensor((4,), f32) = exp(x)\n  return a\n}\n";
  for (int level = 1; level <= 40; ++level) {
    const std::string below = "@f" + std::to_string(level - 1);
    text += "def f" + std::to_string(level) +
            "(x: Tensor((4,), f32)) -> Tensor((4,), f32) {inline: true} {\n"
            "  a: Tensor((4,), f32) = " +
            below +
            "(x)\n"
            "  b: Tensor((4,), f32) = " +
            below + "(a)\n  return b\n}\n";
  }
  const Module module =
      checked(inline_functions(checked(text::parse("module\n" + text, "before"))));
  size_t most = 0, all = 0;
  for (const auto& [name, function] : module.functions) {
    size_t bindings = 0;
    relax::visit_bindings(relax::as_relax_function(function.get())->body,
                          [&](const relax::Binding&, bool) { ++bindings; });
    most = std::max(most, bindings);
    all += bindings;
  }
  EXPECT_GT(most, kMostInlined / 4);
  EXPECT_LE(most, kMostInlined + 4);
  EXPECT_LE(all, kMostInlinedInAll + 100);
}

// Each function calls the next: the depth equals the number of functions.
TEST(Inline, LongChainsOfCalls) {
  constexpr int kFunctions = 3000;
  std::string text;
  for (int i = 0; i < kFunctions; ++i) {
    const std::string next =
        i + 1 < kFunctions ? "@f" + std::to_string(i + 1) + "(x)" : std::string("exp(x)");
    text += "def f" + std::to_string(i) + "(x: Tensor((4,), f32)) -> Tensor((4,), f32)" +
            (i > 0 ? " {inline: true}" : "") + " {\n  a: Tensor((4,), f32) = " + next +
            "\n  return a\n}\n";
  }
  const Module module = inline_functions(text::parse("module\n" + text, "before"));
  EXPECT_EQ(module.functions.size(), static_cast<size_t>(kFunctions));
}

}  // namespace
}  // namespace tapml::passes
