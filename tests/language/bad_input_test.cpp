// Programs that are large, deep or wrong in ways that a person would not write: an error or the
// right result, in time proportional to the text.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/insert_checks.h"
#include "compiled_program.h"
#include "fuzz/oracles/vm_values.h"
#include "interp/interpreter.h"
#include "ir/exceptions.h"
#include "passes/inline_functions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml {
namespace {

using testing::CompiledProgram;

Module checked(const std::string& source) {
  Module module = text::parse(source, "bad");
  pipeline::check_input(module, "bad");
  return module;
}

// The error message; empty if there is no error.
std::string message(const std::string& source) {
  auto result = guard([&] { return checked(source); });
  if (result) return "";
  EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
  return result.error().to_string();
}

interp::Value vector(int64_t size) {
  return interp::Value::tensor(op::RefTensor::zeros(DType::kF32, {size}));
}

TEST(BadInput, AHundredThousandBindings) {
  std::string source = "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n";
  const int count = 100'000;
  std::string last = "x";
  for (int i = 0; i < count; ++i) {
    std::string name = "v" + std::to_string(i);
    source += "  " + name + ": Tensor((n,), f32) = negative(" + last + ")\n";
    last = name;
  }
  source += "  return " + last + "\n}\n";
  Module module = build::insert_checks(checked(source));
  op::RefTensor one = op::RefTensor::zeros(DType::kF32, {1});
  one.values[0] = 3;
  interp::Value result = interp::call(module, "main", {interp::Value::tensor(one)});
  EXPECT_EQ(result.as_tensor().values[0], 3);
  EXPECT_EQ(text::print(module).size(), text::print(text::parse(source, "again")).size());
}

// The check would be a match_cast, which a dataflow block cannot apply to functions.
TEST(BadInput, AFunctionThatADataflowBlockWouldHaveToFind) {
  const Module module = checked(R"(
def main(x: Tuple(Object)) -> Object {
  dataflow {
    f: Callable((Object,), Object) = x[0]
    output f
  }
  return f
}
)");
  testing::expect_user_error([&] { build::insert_checks(module); },
                             {"a dataflow block cannot check that a value is a function",
                              "function main, binding f", "bind it outside the block"});
}

TEST(BadInput, NestingBeyondTheLimit) {
  std::string open, close;
  for (int i = 0; i < 2000; ++i) {
    std::string name = "v" + std::to_string(i);
    open += name + ": Object = if (c) { ";
    close = " yield x } else { yield x } " + std::string(i ? "" : "return v0") + close;
  }
  EXPECT_NE(message("def main(x: Object, c: Tensor((), bool)) -> Object { " + open + close + "}")
                .find("nested too deep"),
            std::string::npos);
  std::string lambdas, ends;
  for (int i = 0; i < 2000; ++i) {
    std::string n = std::to_string(i);
    lambdas += "g" + n + ": Object = def (a" + n + ": Object) -> Object { ";
    ends += "return x } ";
  }
  EXPECT_NE(message("def main(x: Object) -> Object { " + lambdas + ends + "return x }")
                .find("nested too deep"),
            std::string::npos);
  std::string loops, yields;
  for (int i = 0; i < 2000; ++i) {
    std::string n = std::to_string(i);
    loops += "v" + n + ": Object = for k" + n + " in range(2) (a" + n + ": Object = x) { ";
    yields += "yield x } ";
  }
  EXPECT_NE(message("def main(x: Object) -> Object { " + loops + yields + "return x }")
                .find("nested too deep"),
            std::string::npos);
}

TEST(BadInput, NestingWithinTheLimit) {
  std::string tuple = "x", annotation = "Object";
  for (int i = 0; i < 900; ++i) {
    tuple = "(" + tuple + ",)";
    annotation = "Tuple(" + annotation + ")";
  }
  Module module = checked("def main(x: Object) -> " + annotation + " { return " + tuple + " }");
  interp::call(module, "main", {vector(1)});
}

TEST(BadInput, NamesOfAMegabyte) {
  std::string name(1 << 20, 'a');
  Module module = checked("def main(" + name +
                          ": Tensor((n,), f32)) -> Tensor((n,), f32) { return " + name + " }");
  EXPECT_EQ(interp::call(module, "main", {vector(2)}).as_tensor().shape, Shape{2});
  EXPECT_NE(message("def main(x: Object) -> Object { return " + name + " }").find("not defined"),
            std::string::npos);
}

TEST(BadInput, IntegersBeyond64Bits) {
  EXPECT_NE(message("def main() -> Object { return shape(9223372036854775808) }"), "");
  EXPECT_NE(message("def main(x: Tensor((99999999999999999999,), f32)) -> Object { return x }"),
            "");
  EXPECT_EQ(message("def main() -> Object { return shape(9223372036854775807) }"), "");
}

constexpr const char* kCyclic = R"(
def f(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @g(x)
  z: Tensor((n,), f32) = exp(y)
  return z
}
def g(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = @f(x)
  z: Tensor((n,), f32) = exp(y)
  return z
}
)";

TEST(BadInput, CyclicCalls) {
  Module module = checked(kCyclic);
  testing::expect_user_error([&] { interp::call(module, "f", {vector(1)}); },
                             {"function calls are nested too deeply"});
  CompiledProgram compiled(kCyclic);
  testing::expect_user_error([&] { compiled.call("f", {vector(1)}); },
                             {"function calls are nested too deeply"});
}

TEST(BadInput, CyclicCallsAreInlinedOnce) {
  std::string source = kCyclic;
  for (size_t at = 0; (at = source.find("f32) {", at)) != std::string::npos; at += 20) {
    source.insert(at + 5, "{inline: true} ");
  }
  auto result = guard([&] { return passes::inline_functions(checked(source)); });
  if (result) {
    analysis::verify(*result, "inline_functions");
  } else {
    EXPECT_EQ(result.error().kind, ErrorKind::kUser) << result.error().to_string();
  }
}

constexpr const char* kShapes = R"(
def product(s: Shape((n, m))) -> Object {
  y: Tensor((n*m*n*m,), f32) = full(shape(n*m*n*m)) {value: 1.0, dtype: f32}
  return y
}
def minus(s: Shape((n,))) -> Object {
  y: Tensor((n - 4,), f32) = full(shape(n - 4)) {value: 1.0, dtype: f32}
  return y
}
def divide(s: Shape((n,))) -> Object {
  return shape(10//n)
}
)";

TEST(BadInput, ShapesAtRunTime) {
  Module module = checked(kShapes);
  auto run = [&](const char* name, std::vector<int64_t> dims) {
    return interp::call(module, name, {interp::Value::shape(std::move(dims))});
  };
  testing::expect_user_error([&] { run("product", {1 << 20, 1 << 20}); }, {"64-bit"});
  testing::expect_user_error([&] { run("product", {1 << 10, 1 << 10}); }, {"too large"});
  testing::expect_user_error([&] { run("minus", {3}); },
                             {"[-1] is negative", "binding y of minus"});
  EXPECT_EQ(run("minus", {4}).as_tensor().shape, Shape{0});
  testing::expect_user_error([&] { run("divide", {0}); }, {"divides by zero"});
  EXPECT_EQ(run("product", {0, 5}).as_tensor().shape, Shape{0});
}

TEST(BadInput, ShapesAtRunTimeOnTheVirtualMachine) {
  CompiledProgram compiled(kShapes);
  auto run = [&](const char* name, std::vector<int64_t> dims) {
    return compiled.call(name, {interp::Value::shape(std::move(dims))});
  };
  testing::expect_user_error([&] { run("product", {1 << 20, 1 << 20}); }, {"64-bit"});
  // 2^40 elements: no overflow, but not enough memory either.
  auto large = guard([&] { return run("product", {1 << 10, 1 << 10}); });
  EXPECT_FALSE(large);
  if (!large) {
    EXPECT_NE(large.error().kind, ErrorKind::kInternal) << large.error().to_string();
  }
  testing::expect_user_error([&] { run("minus", {3}); },
                             {"[-1] is negative", "binding y of minus"});
  EXPECT_EQ(run("minus", {4}).as_tensor().shape, Shape{0});
  testing::expect_user_error([&] { run("divide", {0}); }, {"zero"});
  EXPECT_EQ(run("product", {0, 5}).as_tensor().shape, Shape{0});
}

TEST(BadInput, ZeroAndNegativeDimensions) {
  Module module = checked(
      "def main(x: Tensor((n, 0), f32)) -> Tensor((n,), f32) {\n"
      "y: Tensor((n,), f32) = sum(x) {axes: [1]} return y }");
  op::RefTensor empty = op::RefTensor::zeros(DType::kF32, {2, 0});
  EXPECT_EQ(interp::call(module, "main", {interp::Value::tensor(empty)}).as_tensor().values,
            (std::vector<double>{0, 0}));
  CompiledProgram sums(
      "def main(x: Tensor((n, 0), f32)) -> Tensor((n,), f32) {\n"
      "y: Tensor((n,), f32) = sum(x) {axes: [1]} return y }");
  EXPECT_EQ(sums.call("main", {interp::Value::tensor(empty)}).as_tensor().values,
            (std::vector<double>{0, 0}));
  // No value has a negative dimension.
  testing::expect_user_error(
      [&] { checked("def main(x: Tensor((-1,), f32)) -> Object { return x }"); },
      {"a dimension of 'x' is negative", "function main"});
}

TEST(BadInput, TensorProgramsNameTheLine) {
  const std::string source = R"(prim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {
  for i in serial(4) {
    y[i] = x[i]
    x[i] = y[i]
  }
}
)";
  text::SourceMap places;
  Module module = text::parse(source, "bad", {.places = &places});
  testing::expect_user_error([&] { pipeline::check_input(module, "bad", &places); },
                             {"T6 in f", "bad:4:5", "x[i] = y[i]"});
}

TEST(BadInput, RangesOfAnotherDtype) {
  EXPECT_NE(message("def main(y: Prim(i8, n), x: Object) -> Object {\n"
                    "  z: Object = for i in range(n) (a: Object = x) { yield a }\n"
                    "  return z }")
                .find("the range of a loop is not of i64"),
            std::string::npos);
}

}  // namespace
}  // namespace tapml
