// Programs that are large or deep in one way, compiled and run: the right result, in time
// proportional to the text.
#include <gtest/gtest.h>

#include <functional>

#include "compiled_program.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::CompiledProgram;

constexpr const char* kVector = "Tensor((n,), f32)";

interp::Value floats(const std::vector<double>& values) {
  op::RefTensor tensor = op::RefTensor::zeros(DType::kF32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.values[i] = values[i];
  return interp::Value::tensor(tensor);
}

interp::Value flag(bool value) {
  op::RefTensor tensor = op::RefTensor::zeros(DType::kBool, {});
  tensor.values[0] = value ? 1 : 0;
  return interp::Value::tensor(tensor);
}

std::vector<double> values_of(const interp::Value& value) {
  const auto& values = value.as_tensor().values;
  return {values.begin(), values.end()};
}

// `text` for every number below `count`, with '#' replaced by the number and '$' by the next one.
std::string repeated(int count, const std::string& text) {
  std::string result;
  for (int i = 0; i < count; ++i) {
    for (char c : text) {
      result += c == '#' ? std::to_string(i) : c == '$' ? std::to_string(i + 1) : std::string(1, c);
    }
  }
  return result;
}

TEST(LargeProgram, ManyBindings) {
  constexpr int kCount = 100'000;
  CompiledProgram program("def main(v0: Tensor((n,), f32)) -> Tensor((n,), f32) {\n" +
                              repeated(kCount, "  v$: Tensor((n,), f32) = negative(v#)\n") +
                              "  return v" + std::to_string(kCount) + "\n}\n",
                          /*verify=*/false);
  EXPECT_EQ(values_of(program.call("main", {floats({3, -1})})), (std::vector<double>{3, -1}));
}

TEST(LargeProgram, ManyHostScalars) {
  constexpr int kCount = 20'000;
  CompiledProgram program(
      "def step(k: Prim(i64, n)) -> Prim(i64) {\n  return prim(n + 1)\n}\n"
      "def main(v0: Prim(i64, n)) -> Prim(i64) {\n" +
          repeated(kCount, "  v$: Prim(i64) = @step(v#)\n") + "  return v" +
          std::to_string(kCount) + "\n}\n",
      /*verify=*/false);
  EXPECT_EQ(std::get<int64_t>(program.call("main", {interp::Value::prim(5)}).data), 5 + kCount);
}

TEST(LargeProgram, ManyFunctions) {
  constexpr int kCount = 2'000;
  CompiledProgram program(repeated(kCount,
                                   "def f#(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n"
                                   "  return add(x, const(f32, (), [1.0]))\n}\n") +
                              "def main(v0: Tensor((n,), f32)) -> Tensor((n,), f32) {\n" +
                              repeated(kCount, "  v$: Tensor((n,), f32) = @f#(v#)\n") +
                              "  return v" + std::to_string(kCount) + "\n}\n",
                          /*verify=*/false);
  EXPECT_EQ(values_of(program.call("main", {floats({0.5})})), (std::vector<double>{0.5 + kCount}));
}

// Each value has its own dimension: none is known to be as large as another.
TEST(LargeProgram, ManyDimensionsOfRunTime) {
  constexpr int kCount = 1'000;
  CompiledProgram program(
      "def main(v0: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor(ndim=1, f32) {\n" +
          repeated(kCount,
                   "  w#: Tensor(ndim=1, f32) = if (c) { yield exp(v#) } else { yield concat((v#, "
                   "v#)) {axis: 0} }\n"
                   "  x#: Tensor((m#,), f32) = match_cast(w#, Tensor((m#,), f32))\n"
                   "  v$: Tensor((m#,), f32) = minimum(x#, const(f32, (), [#.0]))\n") +
          "  return v" + std::to_string(kCount) + "\n}\n",
      /*verify=*/false);
  EXPECT_EQ(values_of(program.call("main", {floats({-1, 5}), flag(true)})).size(), 2u);
}

// Tensors, workspaces and results of kernels with unrelated sizes; the variables of `unique` have
// one name.
TEST(LargeProgram, ManyUnrelatedSizes) {
  constexpr int kCount = 1'000;
  CompiledProgram program(
      "def main(v0: Tensor((n,), f32)) -> Tensor(ndim=1, f32) {\n" +
          repeated(kCount,
                   "  m#: Tensor((k#,), f32) = match_cast(v#, Tensor((k#,), f32))\n"
                   "  s#: Tensor((k#,), f32) = sort(m#) {axis: 0}\n"
                   "  w#: Tuple(Tensor(ndim=1, f32), Object, Object) = unique(s#)\n"
                   "  v$: Tensor(ndim=1, f32) = w#[0]\n") +
          "  return v" + std::to_string(kCount) + "\n}\n",
      /*verify=*/false);
  EXPECT_EQ(values_of(program.call("main", {floats({2, 3, -1, 3})})),
            (std::vector<double>{-1, 2, 3}));
}

// The same with sizes known from the start, so that a storage has the greatest of several sizes.
TEST(LargeProgram, ManyParametersOfUnrelatedSizes) {
  constexpr int kCount = 100;
  const std::string params = repeated(kCount, ", p#: Tensor((k#,), f32)").substr(2);
  CompiledProgram program("def main(" + params + ") -> Tensor((), f32) {\n" +
                              "  s0: Tensor((), f32) = const(f32, (), [0.0])\n" +
                              repeated(kCount,
                                       "  a#: Tensor((k#,), f32) = sort(p#) {axis: 0}\n"
                                       "  e#: Tensor((k#,), f32) = exp(a#)\n"
                                       "  t#: Tensor((), f32) = sum(e#) {axes: [0]}\n"
                                       "  s$: Tensor((), f32) = add(s#, t#)\n") +
                              "  return s" + std::to_string(kCount) + "\n}\n",
                          /*verify=*/false);
  std::vector<interp::Value> args;
  for (int i = 0; i < kCount; ++i) args.push_back(floats(std::vector<double>(1 + i % 3)));
  EXPECT_EQ(values_of(program.call("main", args)), (std::vector<double>{199}));
}

TEST(LargeProgram, ManyParametersAndFields) {
  constexpr int kCount = 1'000, kJoined = 50;
  auto list = [](int count, const std::string& text) {
    return repeated(count, ", " + text).substr(2);
  };
  const std::string fields = list(kCount, "p#"), types = list(kCount, kVector);
  CompiledProgram program("def main(" + list(kCount, std::string("p#: ") + kVector) +
                              ") -> Tuple(Tensor(ndim=1, f32), Tuple(" + types +
                              ")) {\n  t: Tuple(" + types + ") = (" + fields +
                              ")\n  y: Tensor(ndim=1, f32) = concat((" + list(kJoined, "p#") +
                              ")) {axis: 0}\n  return (y, t)\n}\n",
                          /*verify=*/false);
  std::vector<interp::Value> arguments;
  for (int i = 0; i < kCount; ++i) arguments.push_back(floats({static_cast<double>(i)}));
  interp::Value result = program.call("main", arguments);
  const std::vector<double> joined = values_of(result.as_tuple()[0]);
  ASSERT_EQ(joined.size(), static_cast<size_t>(kJoined));
  for (int i = 0; i < kJoined; ++i) EXPECT_EQ(joined[static_cast<size_t>(i)], i);
  const interp::ValueList& kept = result.as_tuple()[1].as_tuple();
  ASSERT_EQ(kept.size(), static_cast<size_t>(kCount));
  EXPECT_EQ(values_of(kept.back()), (std::vector<double>{kCount - 1}));
}

// Every name is a megabyte long.
TEST(LargeProgram, NamesOfAMegabyte) {
  auto name = [](char letter) { return std::string(1 << 20, letter); };
  const std::string function = name('f'), parameter = name('p'), symbol = name('s');
  const std::string variable = name('v'), tensors = name('t'), buffer = name('b');
  const std::string type = "Tensor((" + symbol + ",), f32)";
  CompiledProgram program(
      "def " + function + "(" + parameter + ": " + type + ") -> " + type + " {\n  " + variable +
          ": " + type + " = exp(" + parameter + ")\n  w: " + type + " = call_tir(@" + tensors +
          ", (" + variable + ",), " + type + ")\n  return w\n}\n" + "prim def " + tensors + "(" +
          buffer + ": Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n" +
          "  for i in serial(n) {\n    y[i] = " + buffer + "[i] + f32(1.0)\n  }\n}\n" +
          "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n  y: Tensor((n,), f32) = @" +
          function + "(x)\n  return y\n}\n",
      /*verify=*/false);
  EXPECT_EQ(values_of(program.call("main", {floats({0, 0})})), (std::vector<double>{2, 2}));
  program.reread();
  EXPECT_EQ(values_of(program.call(function, {floats({0})})), (std::vector<double>{2}));
  // An error is not as long as the name that it mentions.
  testing::expect_user_error([&] { program.call(function, {floats({0}), floats({0})}); }, {});
}

// Constructs nested as deeply as a text may nest.
struct Deep {
  const char* name;
  int levels;
  const char* open;
  const char* close;
  double expected;  // of 1, if the flag is set
  friend void PrintTo(const Deep& deep, std::ostream* out) { *out << deep.name; }
};

class DeepProgram : public ::testing::TestWithParam<Deep> {};

TEST_P(DeepProgram, Runs) {
  const Deep& deep = GetParam();
  std::string source =
      "def main(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor((n,), f32) {\n"
      "  not_c: Tensor((), bool) = logical_not(c)\n";
  source += "  y: Tensor((n,), f32) = " + repeated(deep.levels, deep.open) + "x" +
            repeated(deep.levels, deep.close) + "\n  return y\n}\n";
  CompiledProgram program(source);
  EXPECT_EQ(values_of(program.call("main", {floats({1}), flag(true)})),
            (std::vector<double>{deep.expected}));
}

INSTANTIATE_TEST_SUITE_P(
    All, DeepProgram,
    ::testing::Values(Deep{"Calls", 1000, "negative(", ")", 1},
                      Deep{"Ifs", 499, "if (c) { yield ", " } else { yield negative(x) }", 1},
                      Deep{"ElseBranches", 499, "if (not_c) { yield negative(x) } else { yield ",
                           " }", 1},
                      Deep{"Tuples", 500, "(", ",)[0]", 1},
                      Deep{"Sequences", 1000, "{ yield ", " }", 1}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tapml
