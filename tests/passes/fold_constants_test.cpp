// Operators on constants: programs before and after the pass.
#include "passes/fold_constants.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "checked.h"

namespace tapml::passes {
namespace {

TEST(FoldConstants, AConstantReplacesTheCallAndItsUses) {
  expect_becomes(fold_constants, R"(
def main(c: Prim(bool), x: Tensor((n, 3), f32)) -> Tensor((n, 3), f32) {
  y: Tensor((n, 3), f32) = if (c) {
    a: Tensor((3,), f32) = exp(const(f32, (3,), [0.0, -inf, 0.0]))
    b: Tensor((n, 3), f32) = add(x, a)
    yield b
  } else {
    yield x
  }
  return y
}
)",
                 R"(
def main(c: Prim(bool), x: Tensor((n, 3), f32)) -> Tensor((n, 3), f32) {
  y: Tensor((n, 3), f32) = if (c) {
    a: Tensor((3,), f32) = const(f32, (3,), [1.0, 0.0, 1.0])
    b: Tensor((n, 3), f32) = add(x, const(f32, (3,), [1.0, 0.0, 1.0]))
    yield b
  } else {
    yield x
  }
  return y
}
)");
}

// The limit is 1 KiB: a is within it, b is not.
TEST(FoldConstants, LargeResultsStayOperators) {
  const Module module = checked(fold_constants(checked(text::parse(R"(
def main(x: Tensor((257,), f32)) -> Tensor((257,), f32) {
  dataflow {
    a: Tensor((256,), f32) = full(shape(256)) {value: 1.0, dtype: f32}
    b: Tensor((257,), f32) = full(shape(257)) {value: 1.0, dtype: f32}
    y: Tensor((257,), f32) = add(x, b)
    output y
  }
  return y
}
)",
                                                                   "test"))));
  std::map<std::string, relax::ExprKind> values;
  relax::visit_bindings(relax::as_relax_function(module.find("main"))->body,
                        [&](const relax::Binding& binding, bool) {
                          values[binding.var->name] = binding.value->kind;
                        });
  EXPECT_EQ(values.at("a"), relax::ExprKind::kConstant);
  EXPECT_EQ(values.at("b"), relax::ExprKind::kCall);
}

TEST(FoldConstants, WrittenTensorsStayVariables) {
  expect_stays(fold_constants, R"(
impure def main(x: Tensor((2,), f32)) -> Tensor((2,), f32) {
  a: Tensor((2,), f32) = exp(const(f32, (2,), [0.0, 0.0]))
  u: Tuple() = assign(a, x)
  return a
}
)");
}

}  // namespace
}  // namespace tapml::passes
