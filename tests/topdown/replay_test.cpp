// Verdicts on single kernels: faults of the target, of the source, or of the tests.
#include "topdown/replay/replay.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/local_virtual_machine.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/altered_kernels.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One call of the one kernel of `main`, whose parameters are f32[3, 8].
Suite carved_program(const std::string& program, const std::vector<double>& inputs) {
  auto session = testing::open_session("cpu");
  auto executable = pipeline::compile(text::parse(program, "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  std::vector<runtime::Value> args;
  for (double scale : inputs) {
    HostTensor x = HostTensor::zeros(DType::kF32, {3, 8});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, scale * static_cast<double>(i + 1));
    args.emplace_back(unwrap(runtime::upload(*session, x)));
  }
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  return carver.take();
}

Suite carved_tanh() {
  return carved_program(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    y: Tensor((n, 8), f32) = tanh(x)
    output y
  }
  return y
}
)",
                        {0.1});
}

// The skeleton of the suite's kernel with a text replaced by another.
KernelVerdict replayed_with(const Suite& suite, const std::string& from, const std::string& to) {
  const target::Target target = target::parse_target("cpu");
  KernelReference reference(suite);
  std::string text = kernel_skeleton(reference.module(), suite.kernels[0].name, target);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << text;
  text.replace(at, from.size(), to);
  testing::TempFolder folder;
  testing::write_bytes(folder / "k.c", text);
  const CustomKernels user(read_custom_sources(folder / ".", target), reference.module());
  pipeline::ImplementOptions options;
  options.foreign = user.compile(reference.module(), target);
  auto executable = pipeline::implement(reference.module(), target, options);
  auto session = testing::open_session("cpu");
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  return unwrap(replay_kernel(suite, reference, 0, *runner));
}

// The verdict on the suite's kernel with its results multiplied by `factor`.
KernelVerdict compared(const Suite& suite, double factor) {
  auto session = testing::open_session("cpu");
  KernelReference reference(suite);
  pipeline::ImplementOptions options;
  options.rewrite = [&](const std::string&, tir::PrimFuncRef scheduled) {
    return factor == 1 ? scheduled : scaled_when_long(*scheduled, 0, factor);
  };
  auto executable = pipeline::implement(reference.module(), target::parse_target("cpu"), options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  return unwrap(replay_kernel(suite, reference, 0, *runner));
}

// Multiplies the source's outputs of all calls by `factor`.
void scale_source(Suite& suite, double factor) {
  for (SuiteCall& call : suite.calls) {
    for (std::string& hash : call.after) {
      if (hash.empty()) continue;
      const HostTensor& right = suite.tensors.at(hash);
      HostTensor wrong = HostTensor::zeros(right.dtype(), right.shape());
      for (int64_t i = 0; i < wrong.size(); ++i) wrong.set_f64(i, right.at_f64(i) * factor);
      hash = content_hash(wrong);
      suite.tensors.insert_or_assign(hash, wrong);
    }
  }
}

TEST(ReplayKernel, AKernelWithoutTestsDoesNotPass) {
  Suite suite = carved_tanh();
  suite.calls.clear();
  testing::expect_user_error([&] { compared(suite, 1); }, {"no test of this kernel", "tanh_"});
}

// Whether the target fails too is a separate question.
TEST(ReplayKernel, ASourceOutsideItsBoundIsWrong) {
  for (double source : {1.0, 1.01, kNaN}) {
    for (double target : {1.0, 1.01, kNaN}) {
      Suite suite = carved_tanh();
      if (source != 1) scale_source(suite, source);
      const KernelVerdict verdict = compared(suite, target);
      EXPECT_EQ(verdict.source_wrong, source != 1) << source << " and " << target;
      EXPECT_EQ(verdict.passed, target == 1) << source << " and " << target;
    }
  }
}

// Unwritten elements hold a nonzero pattern, and should be true.
TEST(ReplayKernel, UnwrittenTruthValuesAreNotTrue) {
  const Suite suite = carved_program(R"(module
def main(x: Tensor((n, 8), f32), y: Tensor((n, 8), f32)) -> Tensor((n, 8), bool) {
  dataflow {
    z: Tensor((n, 8), bool) = greater(x, y)
    output z
  }
  return z
}
)",
                                     {1, -1});
  EXPECT_TRUE(replayed_with(suite, "launch", "launch").passed);
  const KernelVerdict half = replayed_with(suite, " over n*8 ", " over n*4 ");
  EXPECT_FALSE(half.passed);
  EXPECT_EQ(half.failed, Failure::kNone);
  EXPECT_EQ(half.note.substr(0, 20), "12 of 24 elements of") << half.note;
  ASSERT_TRUE(half.difference);
  EXPECT_EQ(half.difference->outside, 12);
}

TEST(ReplayKernel, WritingToAnInputIsOutOfBounds) {
  const Suite suite = carved_tanh();
  const std::string x = suite.kernels[0].params[0], begin = "int64_t end) {\n";
  auto after_write = [&](const std::string& element) {
    return replayed_with(suite, begin, begin + "  ((float*)buffers[0])[" + element + "] = 42;\n");
  };
  for (const auto& [element, said] :
       std::map<std::string, std::string>{{"23", "4 bytes of " + x},
                                          {"24", "4 bytes after " + x},
                                          {"-1", "4 bytes before " + x}}) {
    const KernelVerdict verdict = after_write(element);
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.failed, Failure::kOutOfBounds);
    EXPECT_EQ(verdict.failure, "writes outside of its outputs: " + said);
  }
}

// Of any size: parts of it are read back one after the other.
TEST(ReplayKernel, WritesBesideALargeInputAreDetected) {
  const Suite small = carved_tanh();
  Suite suite = small;
  SuiteCall& call = suite.calls[0];
  const int64_t rows = (int64_t{9} << 20) / 32 + 1;
  call.scalars = {rows};
  const HostTensor zeros = HostTensor::zeros(DType::kF32, {rows, 8});
  call.before[0] = call.after[1] = content_hash(zeros);
  suite.tensors = {{call.after[1], zeros}};
  const std::string x = suite.kernels[0].params[0], begin = "int64_t end) {\n";
  // The last element of the first part that is read, the first of the second, one inside, the last.
  const int64_t part = (4 << 20) / 4 - (64 << 10) / 4;
  for (const auto& [element, said] :
       {std::pair{int64_t{0}, "4 bytes of "}, std::pair{part - 1, "4 bytes of "},
        std::pair{part, "4 bytes of "}, std::pair{rows * 8 - 1, "4 bytes of "},
        std::pair{rows * 8, "4 bytes after "}, std::pair{int64_t{-1}, "4 bytes before "}}) {
    const KernelVerdict verdict = replayed_with(
        suite, begin, begin + "  ((float*)buffers[0])[" + std::to_string(element) + "] = 1.1f;\n");
    EXPECT_EQ(verdict.failure, "writes outside of its outputs: " + (said + x)) << element;
  }
}

}  // namespace
}  // namespace tapml::topdown
