// Bindings that become a function: programs before and after the pass.
#include "passes/outline_bindings.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "support/expect_error.h"

namespace tapml::passes {
namespace {

TEST(OutlineBindings, NamedBindingsBecomeACall) {
  expect_becomes(outline_bindings, R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {outline: ["mlp = h..r"]} {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    h: Tensor((n, 4), f32) = matmul(a, w)
    r: Tensor((n, 4), f32) = relu(h)
    y: Tensor((n, 4), f32) = add(a, r)
    output y
  }
  return y
}
)",
                 R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    a: Tensor((n, 4), f32) = exp(x)
    r: Tensor((n, 4), f32) = @mlp(a, w)
    y: Tensor((n, 4), f32) = add(a, r)
    output y
  }
  return y
}

def mlp(a: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    h: Tensor((n, 4), f32) = matmul(a, w)
    r: Tensor((n, 4), f32) = relu(h)
    output r
  }
  return r
}
)");
}

TEST(OutlineBindings, SeveralResultsAreATuple) {
  expect_becomes(outline_bindings, R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {outline: ["h..r", "y..y"]} {
  dataflow {
    h: Tensor((n, 4), f32) = exp(x)
    r: Tensor((n, 4), f32) = relu(h)
    y: Tensor((n, 4), f32) = add(h, r)
    output y
  }
  return y
}
)",
                 R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    r: Tuple(Tensor((n, 4), f32), Tensor((n, 4), f32)) = @main_r(x)
    h: Tensor((n, 4), f32) = r[0]
    r_1: Tensor((n, 4), f32) = r[1]
    y: Tensor((n, 4), f32) = @main_y(h, r_1)
    output y
  }
  return y
}

def main_r(x: Tensor((n, 4), f32)) -> Tuple(Tensor((n, 4), f32), Tensor((n, 4), f32)) {
  dataflow {
    h: Tensor((n, 4), f32) = exp(x)
    r: Tensor((n, 4), f32) = relu(h)
    output h, r
  }
  return (h, r)
}

def main_y(h: Tensor((n, 4), f32), r: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = add(h, r)
    output y
  }
  return y
}
)");
}

// An unknown variable, the wrong order, and neighbors in two blocks.
TEST(OutlineBindings, RefusesBindingsThatNoBlockHas) {
  const std::string program = R"( {
  dataflow {
    h: Tensor((n,), f32) = exp(x)
    r: Tensor((n,), f32) = exp(h)
    output h, r
  }
  y: Tensor((n,), f32) = add(h, r)
  return y
}
)";
  for (const std::string entry : {"h..q", "r..h", "r..y"}) {
    const Module module =
        checked(text::parse("def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {outline: [\"" +
                                entry + "\"]}" + program,
                            "test"));
    testing::expect_user_error(
        [&] { outline_bindings(module); },
        {"function main, attribute outline", "the variables of two bindings of one block", entry});
  }
}

TEST(OutlineBindings, RefusesToPassOnASymbolicVariable) {
  const Module module = checked(text::parse(R"(
def main(x: Tensor(ndim=1, f32)) -> Tensor(ndim=1, f32) {outline: ["h..h"]} {
  h: Tensor((m,), f32) = match_cast(x, Tensor((m,), f32))
  r: Tensor((m,), f32) = exp(h)
  return r
}
)",
                                            "test"));
  testing::expect_user_error([&] { outline_bindings(module); },
                             {"return the symbolic variable 'm'"});
}

}  // namespace
}  // namespace tapml::passes
