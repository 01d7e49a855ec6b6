// Kernels that read and write views (strided, of storage operators): carved, stored, replayed, and
// dispatched to another platform one after another, as a migration does.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/offload.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

// An operator reads a transposed part, and another part is written through it.
const char* const kViews = R"(module
impure def main(x: Tensor((n, 6), f32), y: Tensor((3, n), f32)) -> Tensor((n, 6), f32) {
  own: Tensor((n, 6), f32) = copy(x)
  part: Tensor((n, 3), f32) = view_slice(own, shape(0, 1), shape(n, 3))
  turned: Tensor((3, n), f32) = view_transpose(part) {axes: [1, 0]}
  sum: Tensor((3, n), f32) = add(turned, y)
  w: Tuple() = assign(turned, sum)
  return own
})";

struct Program {
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<runtime::Session> session;
  std::unique_ptr<runtime::LocalVirtualMachine> vm;

  Program() {
    executable = pipeline::compile(text::parse(kViews, "m.txt"), target::parse_target("cpu"));
    session = testing::open_session("cpu");
    vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  }
  // Row i holds 10 i ... 10 i + 5, and 100 j + i is added to column 1 + j.
  HostTensor operator()(int64_t n) const {
    HostTensor x = HostTensor::zeros(DType::kF32, {n, 6}),
               y = HostTensor::zeros(DType::kF32, {3, n});
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < 6; ++j) x.set_f64(i * 6 + j, static_cast<double>(10 * i + j));
      for (int64_t j = 0; j < 3; ++j) y.set_f64(j * n + i, static_cast<double>(100 * j + i));
    }
    std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x)),
                                        unwrap(runtime::upload(*session, y))};
    return unwrap(runtime::download(*unwrap(vm->call("main", args)).tensor()));
  }
};

void expect_right(const HostTensor& result, int64_t n) {
  ASSERT_EQ(result.shape(), (Shape{n, 6}));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < 6; ++j) {
      const bool written = j >= 1 && j < 4;
      const auto expected = static_cast<double>(10 * i + j + (written ? 100 * (j - 1) + i : 0));
      EXPECT_EQ(result.at_f64(i * 6 + j), expected) << i << ", " << j;
    }
  }
}

Suite carved_views(const Program& run) {
  Carver carver(*run.executable);
  run.vm->call_point().set_observer(&carver);
  for (int64_t n : {2, 5}) expect_right(run(n), n);
  run.vm->call_point().set_observer(nullptr);
  return carver.take();
}

int32_t kernel_index(const Suite& suite, const std::string& begin) {
  for (size_t i = 0; i < suite.kernels.size(); ++i) {
    if (suite.kernels[i].name.starts_with(begin)) return static_cast<int32_t>(i);
  }
  ADD_FAILURE() << "no kernel " << begin;
  return -1;
}

TEST(ViewSuite, StridedKernelsAreCarvedWithTheirInputsAndOutputs) {
  const Suite suite = carved_views(Program());
  const int32_t read = kernel_index(suite, "read_view_f32_2"),
                write = kernel_index(suite, "write_view_");
  ASSERT_TRUE(read >= 0 && write >= 0);
  for (const SuiteCall& call : suite.calls) {
    if (call.kernel != write) continue;
    // The whole base is input and output; only the written columns differ.
    const auto& modes = suite.kernels[static_cast<size_t>(write)].modes;
    const auto at = std::find(modes.begin(), modes.end(), AccessMode::kInOut) - modes.begin();
    ASSERT_LT(at, std::ssize(modes));
    const HostTensor& before = suite.tensors.at(call.before[static_cast<size_t>(at)]);
    const HostTensor& after = suite.tensors.at(call.after[static_cast<size_t>(at)]);
    ASSERT_EQ(before.size(), after.size());
    for (int64_t i = 0; i < before.size(); ++i) {
      const bool written = i % 6 >= 1 && i % 6 < 4 && i != 1;  // 0 is added to element 1
      EXPECT_EQ(before.at_f64(i) != after.at_f64(i), written)
          << i << ": " << before.at_f64(i) << " became " << after.at_f64(i);
    }
  }
}

TEST(ViewSuite, ReplaysFromDiskOnEveryPlatform) {
  testing::TempFolder folder;
  unwrap(save_suite(carved_views(Program()), folder / "suite"));
  const Suite suite = unwrap(load_suite(folder / "suite"));
  for (const char* platform : {"cpu", "opencl", "vulkan"}) {
    auto session = testing::open_session(platform);
    if (!session) continue;
    KernelReference reference(suite);
    auto executable = pipeline::implement(reference.module(), target::parse_target(platform));
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (int32_t k = 0; k < static_cast<int32_t>(suite.kernels.size()); ++k) {
      KernelVerdict verdict = unwrap(replay_kernel(suite, reference, k, *runner));
      EXPECT_TRUE(verdict.passed) << platform << " " << verdict.kernel << " " << verdict.failure;
      EXPECT_FALSE(verdict.source_wrong) << verdict.kernel;
      EXPECT_GE(verdict.calls, 2) << verdict.kernel;
    }
  }
}

TEST(ViewSuite, AnInjectedFaultInAStridedKernelIsDetected) {
  const Suite suite = carved_views(Program());
  auto session = testing::open_session("cpu");
  Sandbox sandbox({target::parse_target("cpu"), session.get()});
  for (const char* kernel : {"read_view_", "write_view_"}) {
    KernelReference reference(suite);
    FaultyKernel faulty = inject_fault(suite, reference, kernel, FaultKind::kDroppedTail, sandbox);
    pipeline::ImplementOptions options;
    options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
      return name == faulty.kernel ? faulty.implementation : scheduled;
    };
    sandbox.load(pipeline::implement(reference.module(), sandbox.target(), options));
    for (int32_t k = 0; k < static_cast<int32_t>(suite.kernels.size()); ++k) {
      KernelVerdict verdict = unwrap(replay_kernel(suite, reference, k, sandbox));
      EXPECT_EQ(verdict.passed, verdict.kernel != faulty.kernel) << verdict.kernel;
    }
  }
}

TEST(ViewSuite, StridedKernelsMoveToAnotherPlatform) {
  auto session = testing::open_session("opencl");
  if (!session) GTEST_SKIP() << "opencl is unavailable";
  const Program run;
  const Suite suite = carved_views(run);
  auto executable =
      pipeline::implement(KernelReference(suite).module(), target::parse_target("opencl"));
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  runtime::Residency residency(*session);
  runtime::Offload offload(*runner, residency);
  std::set<std::string> moved;
  for (const SuiteKernel& kernel : suite.kernels) {
    moved.insert(kernel.name);
    unwrap(run.vm->set_dispatch(offload.plan(run.vm->executable(),
                                             [&](const runtime::CallSite& site) {
                                               return moved.contains(site.kernel->name);
                                             }),
                                &offload));
    const int64_t before = offload.calls();
    expect_right(run(4), 4);
    EXPECT_GE(offload.calls() - before, std::ssize(moved)) << kernel.name;
  }
  unwrap(run.vm->set_dispatch({}, nullptr));
}

}  // namespace
}  // namespace tapml::topdown
