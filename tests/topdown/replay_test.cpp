// Verdicts of single kernels: what is wrong with a target, or with the source, or with the tests.
#include "topdown/replay/replay.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/vm.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "topdown/altered_kernels.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// One call of one kernel.
Suite carved_tanh() {
  auto session = testing::open_session("cpu");
  auto executable = pipeline::compile(text::parse(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    y: Tensor((n, 8), f32) = tanh(x)
    output y
  }
  return y
}
)",
                                                  "m.txt"),
                                      target::parse_target("cpu"));
  auto vm = unwrap(runtime::VirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  HostTensor x = HostTensor::zeros(DType::kF32, {3, 8});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 0.1 * static_cast<double>(i));
  std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x))};
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  return carver.take();
}

// What the suite's kernel is judged to be with results `factor` times what they should be.
KernelVerdict judged(const Suite& suite, double factor) {
  auto session = testing::open_session("cpu");
  Judge judge(suite);
  pipeline::ImplementOptions options;
  options.rewrite = [&](const std::string&, tir::PrimFuncRef scheduled) {
    return factor == 1 ? scheduled : scaled_when_long(*scheduled, 0, factor);
  };
  auto executable = pipeline::implement(judge.module(), target::parse_target("cpu"), options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  return unwrap(replay_kernel(suite, judge, 0, *runner));
}

// The source's outputs of all calls, `factor` times what they were.
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

TEST(ReplayKernel, AKernelWithoutTestsIsNotRight) {
  Suite suite = carved_tanh();
  suite.calls.clear();
  testing::expect_user_error([&] { judged(suite, 1); }, {"no test of this kernel", "tanh_"});
}

// Whether the target fails too is another matter.
TEST(ReplayKernel, ASourceOutsideOfItsBoundIsWrong) {
  for (double source : {1.0, 1.01, kNaN}) {
    for (double target : {1.0, 1.01, kNaN}) {
      Suite suite = carved_tanh();
      if (source != 1) scale_source(suite, source);
      const KernelVerdict verdict = judged(suite, target);
      EXPECT_EQ(verdict.source_wrong, source != 1) << source << " and " << target;
      EXPECT_EQ(verdict.passed, target == 1) << source << " and " << target;
    }
  }
}

}  // namespace
}  // namespace tapml::topdown
