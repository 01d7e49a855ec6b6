// Data-dependent shapes, from the text of a program to its result on every platform.
#include <gtest/gtest.h>

#include "passes/legalize.h"
#include "pipeline/compile.h"
#include "run_module.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml {
namespace {

using testing::f32;
using testing::interpret_module;
using testing::run_for_tensor;

std::vector<double> elements(const HostTensor& tensor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(tensor.at_f64(i));
  return list;
}

// Twice the rows and columns of the nonzero elements.
constexpr const char* kNonzero = R"(
def main(x: Tensor((n, 3), f32)) -> Tensor(ndim=2, i32) {
  dataflow {
    a: Tensor((n, 3), f32) = negative(x)
    found: Tensor(ndim=2, i32) = nonzero(a)
    rows: Tensor((m, 2), i32) = match_cast(found, Tensor((m, 2), i32))
    twice: Tensor((m, 2), i32) = add(rows, rows)
    output twice
  }
  return twice
}
)";

TEST(DataDependent, NonzeroThroughMatchCast) {
  Module module = text::parse(kNonzero, "test");
  struct Case {
    HostTensor x;
    Shape shape;
    std::vector<double> expected;
  };
  const Case cases[] = {
      {f32({2, 3}, {0, 1, 0, 2, 0, -3}), {3, 2}, {0, 2, 2, 0, 2, 4}},
      {f32({1, 3}, {0, 0, 0}), {0, 2}, {}},
      {f32({0, 3}, {}), {0, 2}, {}},
  };
  Module fixed = pipeline::form_kernels(module);
  for (const Case& test : cases) {
    EXPECT_EQ(interpret_module(module, {test.x})[0].values, test.expected);
    EXPECT_EQ(interpret_module(fixed, {test.x})[0].values, test.expected);
    for (const char* platform : {"cpu", "opencl"}) {
      auto found = run_for_tensor(platform, module, {test.x});
      ASSERT_TRUE(found) << platform << ": " << found.error().to_string();
      EXPECT_EQ(found->shape(), test.shape) << platform;
      EXPECT_EQ(elements(*found), test.expected) << platform;
    }
  }
}

TEST(DataDependent, ManyElements) {
  Module module = text::parse(kNonzero, "test");
  HostTensor x = HostTensor::zeros(DType::kF32, {1500, 3});
  std::vector<double> expected;
  for (int64_t i = 0; i < x.size(); ++i) {
    if (i % 7 != 3 && i % 11 != 0) continue;
    x.set_f64(i, 1);
    expected.push_back(static_cast<double>(i / 3 * 2));
    expected.push_back(static_cast<double>(i % 3 * 2));
  }
  for (const char* platform : {"cpu", "opencl"}) {
    auto found = run_for_tensor(platform, module, {x});
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(elements(*found), expected) << platform;
  }
}

// The distinct values, each multiplied by its count.
constexpr const char* kUnique = R"(
def main(x: Tensor((n, 3), f32)) -> Tensor(ndim=1, f32) {
  dataflow {
    parts: Tuple(Tensor(ndim=1, f32), Tensor((n, 3), i32), Tensor(ndim=1, i32)) = unique(x)
    v: Tensor(ndim=1, f32) = parts[0]
    c: Tensor(ndim=1, i32) = parts[2]
    values: Tensor((m,), f32) = match_cast(v, Tensor((m,), f32))
    counts: Tensor((m,), i32) = match_cast(c, Tensor((m,), i32))
    times: Tensor((m,), f32) = cast(counts) {dtype: f32}
    y: Tensor((m,), f32) = multiply(values, times)
    output y
  }
  return y
}
)";

TEST(DataDependent, UniqueThroughMatchCast) {
  Module module = text::parse(kUnique, "test");
  HostTensor x = f32({2, 3}, {5, -1, 5, 2, 5, -1});
  std::vector<double> expected = {-2, 2, 15};
  EXPECT_EQ(interpret_module(module, {x})[0].values, expected);
  EXPECT_EQ(interpret_module(pipeline::form_kernels(module), {x})[0].values, expected);
  for (const char* platform : {"cpu", "opencl"}) {
    auto found = run_for_tensor(platform, module, {x});
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(elements(*found), expected) << platform;
  }
}

// The elements of a tensor as a shape.
constexpr const char* kReshaped = R"(
def main(x: Tensor((2,), i64)) -> Tensor(ndim=2, f32) {
  s: Shape(ndim=2) = tensor_to_shape(x)
  t: Shape((p, q)) = match_cast(s, Shape((p, q)))
  y: Tensor((p, q), f32) = full(shape(p, q)) {dtype: f32, value: 3.0}
  return y
}
)";

TEST(DataDependent, ATensorIsAShape) {
  Module module = text::parse(kReshaped, "test");
  HostTensor x = HostTensor::zeros(DType::kI64, {2});
  x.set_f64(0, 2);
  x.set_f64(1, 3);
  EXPECT_EQ(interpret_module(module, {x})[0].shape, (Shape{2, 3}));
  for (const char* platform : {"cpu", "opencl"}) {
    auto found = run_for_tensor(platform, module, {x});
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(found->shape(), (Shape{2, 3}));
    EXPECT_EQ(elements(*found), std::vector<double>(6, 3));
  }
  x.set_f64(1, -3);
  auto refused = run_for_tensor("cpu", module, {x});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUser);
  EXPECT_EQ(refused.error().message, "a tensor that is read as a shape has a negative element");
}

// Decomposed functions print and parse.
TEST(DataDependent, DecomposedFunctionsPrintAndParse) {
  for (const char* source : {kNonzero, kUnique, kReshaped}) {
    Module module = passes::legalize(text::parse(source, "test"));
    std::string printed = text::print(module);
    EXPECT_NE(printed.find("tensor_to_shape"), std::string::npos);
    EXPECT_EQ(text::print(text::parse(printed, "printed")), printed);
  }
}

}  // namespace
}  // namespace tapml
