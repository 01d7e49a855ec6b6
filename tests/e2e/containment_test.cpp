// Text modules whose programs would end the command: out-of-bounds accesses, unlimited memory or
// code, endless loops.
#include <gtest/gtest.h>

#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::expect_failure;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;
using testing::TempFolder;

constexpr const char* kGather = R"(module
prim def gather(x: Buffer((n,), f32), at: Buffer((m,), i64), out y: Buffer((m,), f32), n: i64, m: i64) {
  for i in parallel(m) { y[i] = x[at[i]] }
}
def main(x: Tensor((n,), f32), at: Tensor((m,), i64)) -> Tensor((m,), f32) {
  dataflow {
    y: Tensor((m,), f32) = call_tir(@gather, (x, at), Tensor((m,), f32))
    z: Tensor((m,), f32) = exp(y)
    output z
  }
  return z
}
)";

// A kernel as `opt` prints it, with edited loops; the compiler fuses it with the operators after
// it.
constexpr const char* kPair = R"(module
def take_1(x: Tensor((n,), f32), at: Tensor((m,), i64)) -> Tensor((m,), f32) {implementation: "take_1_impl", kernel: true} {
  dataflow {
    y: Tensor((m,), f32) = take(x, at) {axis: 0}
    output y
  }
  return y
}
prim def take_1_impl(x: Buffer((n,), f32), at: Buffer((m,), i64), out y: Buffer((m,), f32), n: i64, m: i64) {spec: "take_1"} {
  for i in serial(m) {
    block "take" (vi: spatial(m) = i) {
      reads at[vi], x[0 +: n]
      writes y[vi]
      y[vi] = x[at[vi]]
    }
  }
}
def main(x: Tensor((n,), f32), at: Tensor((m,), i64)) -> Tensor((m,), f32) {
  dataflow {
    y: Tensor((m,), f32) = call_tir(@take_1, (x, at), Tensor((m,), f32))
    z: Tensor((m,), f32) = exp(y)
    output z
  }
  return z
}
)";

// A loop that exits only when x exceeds 1e30.
constexpr const char* kEndless = R"(module
def again(x: Tensor((2,), f32)) -> Tensor((2,), f32) {
  y: Tensor((2,), f32) = multiply(x, x)
  z: Tensor((2,), f32) = @again(y)
  return z
}
def main(x: Tensor((2,), f32)) -> Tensor((2,), f32) {
  y: Tensor((2,), f32) = @again(x)
  return y
}
)";

class Contained : public ::testing::Test {
 protected:
  std::string module(const std::string& text) {
    const std::string path = folder_ / "module.tapml";
    unwrap(write_text_atomic(path, text));
    return path;
  }
  std::string inputs(const std::map<std::string, HostTensor>& tensors) {
    const std::string path = folder_ / "inputs.safetensors";
    unwrap(write_file_atomic(path, write_safetensors(tensors)));
    return path;
  }
  std::string gather_inputs(int64_t at) {
    return inputs({{"x", HostTensor::from<float>(DType::kF32, {2}, std::vector<float>{1, 2})},
                   {"at", HostTensor::from<int64_t>(DType::kI64, {1}, std::vector<int64_t>{at})}});
  }
  std::vector<std::string> carve(const std::string& text, const std::string& inputs) {
    return {"carve", module(text), "--inputs", inputs, "-o", folder_ / "suite"};
  }
  TempFolder folder_;
};

TEST_F(Contained, AProgramThatCertainlyLeavesABufferIsRefused) {
  const std::string text =
      "module\nprim def f(x: Buffer((4,), f32), out y: Buffer((4,), f32)) {\n"
      "  for i in parallel(4) { y[i] = x[i + 100000000] }\n}\n"
      "def main(x: Tensor((4,), f32)) -> Tensor((4,), f32) {\n"
      "  y: Tensor((4,), f32) = call_tir(@f, (x,), Tensor((4,), f32))\n  return y\n}\n";
  const std::vector<std::string> parts = {"@f",     "x[i + 100000000]", "module.tapml:3",
                                          "0 to 3", "dimension 0 of x", "100000000 to 100000003"};
  expect_failure(carve(text, inputs({{"x", HostTensor::zeros(DType::kF32, {4})}})), 2, parts);
  expect_failure({"compile", module(text)}, 2, parts);
}

TEST_F(Contained, ACrashNamesItsKernel) {
  for (const char* target : {"cpu", "opencl"}) {
    auto args = carve(kGather, gather_inputs(1));
    args.insert(args.end(), {"--target", target});
    ProgramResult result = run_program(args);
    EXPECT_EQ(result.exit_code, 0) << result.all();
    ProgramResult replayed = run_program({"replay", folder_ / "suite", "--target", target});
    EXPECT_EQ(replayed.exit_code, 0) << replayed.all();
    args = carve(kGather, gather_inputs(int64_t{1} << 40));
    args.insert(args.end(), {"--target", target});
    expect_failure(args, 4, {"kernel gather_", "crashed: SIGSEGV", "x[at[i]] may be outside of x"});
  }
  auto args = carve(kGather, gather_inputs(int64_t{1} << 40));
  args.emplace_back("--in-process");
  EXPECT_EQ(run_program(args).exit_code, 128 + SIGSEGV);
}

TEST_F(Contained, KernelsWithLoopsOfTheTextAreLikeHandWrittenPrograms) {
  auto args = carve(kPair, gather_inputs(1));
  ProgramResult result = run_program(args);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  expect_failure(carve(kPair, gather_inputs(int64_t{1} << 40)), 4,
                 {"kernel take_", "crashed: SIGSEGV", "its loops: ", "may be outside of x"});
}

TEST_F(Contained, LocalMemoryIsLimited) {
  expect_failure(
      {"compile",
       module("module\nprim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n"
              "  for i in parallel(n) { alloc t: Buffer((100000000,), f32, local)\n"
              "    t[0] = x[i]\n    y[i] = t[0] }\n}\n"
              "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n"
              "  y: Tensor((n,), f32) = call_tir(@f, (x,), Tensor((n,), f32))\n  return y\n}\n")},
      2, {"@f", "400000000 bytes", "1048576 bytes"});
}

TEST_F(Contained, UnrolledLoopsAreLimited) {
  expect_failure(
      {"compile",
       module("module\nprim def f(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n"
              "  for i in unrolled(100000000) { if 0 < n { y[0] = x[0] + f32(1.0) } }\n}\n"
              "def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n"
              "  y: Tensor((n,), f32) = call_tir(@f, (x,), Tensor((n,), f32))\n  return y\n}\n")},
      2, {"T8", "100000000 iterations", "256", "module.tapml:3"});
}

TEST_F(Contained, LoopsWithoutEndCanBeLimited) {
  auto args = carve(kEndless, inputs({{"x", HostTensor::zeros(DType::kF32, {2})}}));
  args.insert(args.end(), {"--calls", "1", "--step-limit", "1000"});
  expect_failure(args, 4, {"1000 calls", "again", "binding z"});
}

TEST_F(Contained, LoopsWithoutEndAreInterrupted) {
  auto args = carve(kEndless, inputs({{"x", HostTensor::zeros(DType::kF32, {2})}}));
  args.insert(args.end(), {"--calls", "1"});
  ProgramOptions options;
  std::chrono::steady_clock::time_point sent;
  options.interrupt_when = [&] {
    sent = std::chrono::steady_clock::now();
    return std::filesystem::exists(folder_ / "suite/tensors");
  };
  ProgramResult result = run_program(args, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - sent;
  EXPECT_EQ(result.exit_code, 130) << result.all();
  EXPECT_LT(took.count(), 5);
}

}  // namespace
}  // namespace tapml
