// tapml exec: functions of text modules and their results.
#include <gtest/gtest.h>

#include <algorithm>

#include "io/safetensors.h"
#include "support/golden_models.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::ProgramResult;
using testing::run_program;

const char* const kModule = R"(module {model.weights: ["w"]}
def main(x: Tensor((n, 3), f32), w: Tensor((3, 2), f32)) -> Tensor((n, 2), f32) {
  dataflow {
    t: Tensor((2, 3), f32) = permute(w) {axes: [1, 0]}
    y: Tensor((n, 2), f32) = matmul(x, t) {transpose_b: true}
    output y
  }
  return y
}
def parts(p: Tuple(Tensor((n,), f32), Tensor((n,), i64)), s: Shape((m, 2)), k: Prim(i64)) -> Tuple(Tensor((n,), f32), Shape((m, 2)), Prim(i64), Tensor((n,), i64)) {
  a: Tensor((n,), f32) = p[0]
  b: Tensor((n,), i64) = p[1]
  c: Tensor((n,), f32) = exp(a)
  d: Tensor((n,), i64) = add(b, b)
  return (c, s, k, d)
}
def twice(f: Callable((Tensor((4,), f32),), Tensor((4,), f32)), x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  y: Tensor((4,), f32) = f(x)
  z: Tensor((4,), f32) = f(y)
  return z
}
def double(x: Tensor((4,), f32)) -> Tensor((4,), f32) {
  y: Tensor((4,), f32) = add(x, x)
  return y
}
)";

class Exec : public ::testing::Test {
 protected:
  void SetUp() override { testing::write_bytes(file_, kModule); }
  ProgramResult exec(std::vector<std::string> args) const {
    args.insert(args.begin(), {"exec", file_});
    return run_program(args);
  }
  void refuses(std::vector<std::string> args, const std::vector<std::string>& parts) const {
    args.insert(args.begin(), {"exec", file_});
    testing::expect_failure(args, 2, parts);
  }

  testing::TempFolder folder_;
  const std::string file_ = folder_ / "module.txt";
};

TEST_F(Exec, ShowsTheResultOnEveryTarget) {
  for (const char* target : {"interp", "cpu", "opencl"}) {
    const ProgramResult result =
        exec({"--target", target, "--args", "x=f32[2, 3]:[[1, 2, 3], [4, 5, 6]]",
              "w=f32[3,2]:[1,0, 0,1, 1,1]"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
    EXPECT_NE(result.out.find("result: f32[2, 2]\n[[ 4,  5],\n [10, 11]]\n"), std::string::npos)
        << result.out;
  }
}

TEST_F(Exec, TakesAndGivesValuesOfEveryKind) {
  for (const char* target : {"interp", "cpu"}) {
    const ProgramResult result =
        exec({"--function", "parts", "--target", target, "--json", "--args",
              "p=(f32[2]:[0, -inf], [9007199254740993, -1])", "s=shape(5, 2)", "k=-7"});
    ASSERT_EQ(result.exit_code, 0) << result.all();
    const Json json = result.json();
    const std::vector<Json>& fields = json.find("result")->find("fields")->items();
    ASSERT_EQ(fields.size(), 4u);
    EXPECT_EQ(fields[0].find("values")->items()[0].as_double(), 1);
    EXPECT_EQ(fields[0].find("values")->items()[1].as_double(), 0);
    EXPECT_EQ(fields[1].find("value")->items()[0].as_integer(), 5);
    EXPECT_EQ(fields[2].find("value")->as_integer(), -7);
    EXPECT_EQ(fields[3].find("values")->items()[0].as_integer(), 18014398509481986);
    const ProgramResult call =
        exec({"--function", "twice", "--target", target, "--args", "@double", "full(2.5)"});
    ASSERT_EQ(call.exit_code, 0) << call.all();
    EXPECT_NE(call.out.find("[10, 10, 10, 10]"), std::string::npos) << call.out;
  }
}

TEST_F(Exec, ElementsByRule) {
  auto values = [&](const std::string& text) {
    const ProgramResult result = exec({"--function", "double", "--json", "--args", text});
    EXPECT_EQ(result.exit_code, 0) << result.all();
    std::vector<double> numbers;
    const Json json = result.json();
    const Json* tensor = json.find("result");
    if (!tensor) return numbers;
    for (const Json& one : tensor->find("values")->items()) {
      numbers.push_back(one.as_double());
    }
    return numbers;
  };
  EXPECT_EQ(values("arange(1)"), (std::vector<double>{2, 4, 6, 8}));
  EXPECT_EQ(values("x=ones"), (std::vector<double>{2, 2, 2, 2}));
  EXPECT_EQ(values("zeros"), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(values("x=[1, 2, 3, 0.25]"), (std::vector<double>{2, 4, 6, 0.5}));
  const std::vector<double> random = values("random(7)");
  EXPECT_EQ(values("f32[4]:random(7)"), random);
  EXPECT_NE(values("random(8)"), random);
  for (const double value : values("random(7, 10, 11)")) {
    EXPECT_GE(value, 20);
    EXPECT_LE(value, 22);
  }
  // A variable of the annotation.
  const ProgramResult bound = exec({"--bind", "n=4", "--json", "--args", "random(1)", "random(2)"});
  ASSERT_EQ(bound.exit_code, 0) << bound.all();
  EXPECT_EQ(bound.json().find("result")->find("shape")->items()[0].as_integer(), 4);
}

TEST_F(Exec, ReadsAndWritesFiles) {
  const HostTensor x = HostTensor::from<float>(DType::kF32, {1, 3}, std::vector<float>{1, 2, 3});
  const HostTensor w =
      HostTensor::from<float>(DType::kF32, {3, 2}, std::vector<float>{1, 0, 0, 1, 1, 1});
  const std::string in = folder_ / "in.safetensors", out = folder_ / "out.safetensors";
  unwrap(write_file_atomic(in, write_safetensors({{"x", x}, {"weights", w}})));
  const ProgramResult written = exec({"--args", "x=" + in, "w=" + in + ":weights", "-o", out});
  ASSERT_EQ(written.exit_code, 0) << written.all();
  EXPECT_EQ(written.out, out + "\n");
  const auto tensors = testing::read_tensors(out);
  EXPECT_EQ(tensors.at("result").at_f64(1), 5);
  // Written files are valid arguments, in both formats.
  const std::string npz = folder_ / "out.npz";
  const std::vector<std::string> twice = {"--function", "double", "--args", "arange(0)"};
  std::vector<std::string> writes = twice;
  writes.insert(writes.end(), {"-o", npz});
  ASSERT_EQ(exec(writes).exit_code, 0);
  const ProgramResult again = exec({"--function", "double", "--args", npz + ":result"});
  ASSERT_EQ(again.exit_code, 0) << again.all();
  EXPECT_NE(again.out.find("[0, 4, 8, 12]"), std::string::npos) << again.out;
  refuses({"--args", "x=" + in + ":y", "w=" + in + ":weights"},
          {"no such tensor", "\"y\"", "weights or x"});
  refuses({"--args", "x=" + (folder_ / "none.npy"), "w=zeros"}, {"none.npy", "argument x"});
  refuses({"--args", "x=zeros", "w=zeros", "-o", folder_ / "out.txt"}, {"--output", "out.txt"});
}

TEST_F(Exec, NamesTheInvalidArgument) {
  const std::string w = "w=zeros";
  const std::string annotation = "Tensor((n, 3), f32)";
  refuses({"--args", w}, {"argument x is missing", "main(x: " + annotation});
  refuses({"--args", "x=f32[1,3]:zeros", w, "v=1"}, {"no such parameter", "v=1"});
  refuses({"--args", "x=f32[1,3]:zeros", w, w}, {"given twice", "w=zeros"});
  refuses({"--args", "x=i32[1,3]:zeros", w}, {"argument x", annotation, "i32[1, 3]"});
  refuses({"--args", "x=f32[3]:zeros", w}, {"argument x", annotation, "1 dimensions"});
  refuses({"--args", "x=f32[1,4]:zeros", w}, {"argument x", annotation, "4 in dimension 1"});
  refuses({"--args", "x=shape(1, 3)", w}, {"argument x", annotation, "a shape"});
  refuses({"--args", "x=zeros", w}, {"argument x", annotation, "--bind"});
  refuses({"--args", "x=f32[1,3]:[1, 2]", w}, {"argument x", "2 elements", "[1, 3]"});
  refuses({"--args", "x=f32[2,3]:[[1,2],[3,4],[5,6]]", w}, {"argument x", "[3, 2]"});
  refuses({"--args", "x=f32[1,3]:[1, 2, x]", w}, {"argument x", "not a number"});
  refuses({"--args", "x=f32[1,3]:[1, 2, 3", w}, {"argument x", "']'"});
  refuses({"--args", "x=f32[1,3]:zeros!", w}, {"argument x"});
  refuses({"--args", "x=f32[-1,3]:zeros", w}, {"argument x", "dimension"});
  refuses({"--args", "x=f32[99999999999,3]:zeros", w}, {"argument x", "too large"});
  refuses({"--bind", "q=1", "--args", "x=zeros", w}, {"--bind", "n", "q"});
  refuses({"--function", "parts", "--args", "p=([1], [1.5])", "s=shape(1,2)", "k=1"},
          {"argument p", "does not fit i64"});
  refuses({"--function", "mein", "--args", "x=zeros"}, {"--function", "mein", "main"});
  // A mismatch that is visible only across arguments: both dimensions are n.
  for (const char* target : {"interp", "cpu"}) {
    refuses({"--function", "parts", "--target", target, "--args", "p=([1, 2], [1])", "s=shape(1,2)",
             "k=1"},
            {"p", "2", "1"});
  }
}

TEST_F(Exec, LongTensorsAreShortened) {
  testing::write_bytes(file_,
                       "module\ndef main(x: Tensor((n, m), i32)) -> Tensor((n, m), i32) {\n"
                       "  return x\n}\n");
  const ProgramResult shown = exec({"--args", "i32[40, 50]:arange(0)"});
  ASSERT_EQ(shown.exit_code, 0) << shown.all();
  EXPECT_NE(shown.out.find("[[0, 1, 2, ..., 47, 48, 49],"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("1999]]"), std::string::npos) << shown.out;
  EXPECT_LT(shown.out.size(), 400u);
  const ProgramResult whole = exec({"--full", "--args", "i32[40, 50]:arange(0)"});
  EXPECT_EQ(std::count(whole.out.begin(), whole.out.end(), ','), 1999 + 1) << "one in the shape";
}

}  // namespace
}  // namespace tapml
