// Random schedules as machine code: scheduled programs run on the CPU with the results of the
// interpreter, or are refused clearly.
#include <gtest/gtest.h>

#include "codegen/device_kernels.h"
#include "codegen/lower/check_program.h"
#include "passes/lower_math.h"
#include "random_schedule.h"

namespace tapml::testing {
namespace {

bool has_groups(const tir::PrimFunc& func) {
  bool found = false;
  tir::visit(func.body, [&](const tir::Stmt& s) {
    if (s->kind != tir::StmtKind::kFor) return;
    tir::ForKind kind = tir::as<tir::ForNode>(s).for_kind;
    found |= kind == tir::ForKind::kWorkgroup || kind == tir::ForKind::kThread;
  });
  return found;
}

// Kernels of random schedules of every program, against the interpreter on the original program.
void expect_agreement(const std::string& platform, uint64_t first_seed, uint64_t seeds, bool gpu) {
  const target::Target target = target::parse_target(platform);
  for (const Example& example : examples()) {
    tir::PrimFuncRef func = parse_program(example.source);
    DeviceKernels kernels(platform);
    if (!kernels.available()) GTEST_SKIP() << platform << " is unavailable";
    std::vector<std::string> traces;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
      RandomSchedule random(func, seed);
      random.gpu = gpu;
      for (int step = 0; step < 30; ++step) random.step();
      codegen::check_program(*passes::lower_math(*random.schedule.func()), target.description, "k");
      kernels.add_scheduled(*random.schedule.func());
      traces.push_back("seed " + std::to_string(seed) + "\n" +
                       text::print(*random.schedule.func(), "k") + random.schedule.trace().print());
    }
    kernels.load();
    for (size_t kernel = 0; kernel < traces.size(); ++kernel) {
      for (const Sizes& sizes : example.sizes) {
        std::vector<HostTensor> expected = make_arguments(*func, sizes, example.integral);
        std::vector<HostTensor> found = make_arguments(*func, sizes, example.integral);
        interp::run_prim_func(*func, expected, scalars_of(*func, sizes));
        kernels.run(static_cast<int32_t>(kernel), found, scalars_of(*func, sizes));
        std::string difference;
        ASSERT_TRUE(same_tensors(expected, found, example.tolerance, difference))
            << example.name << ": " << difference << "\n"
            << traces[kernel];
      }
    }
  }
}

TEST(NativeSchedules, MachineCodeAgreesWithTheInterpreter) {
  expect_agreement("cpu", 1000, 12, false);
}

TEST(NativeSchedules, OpenclAgreesWithTheInterpreter) { expect_agreement("opencl", 2000, 4, true); }

// Blocks with init under reductions that run zero steps, without changes.
TEST(NativeSchedules, ReductionsWithoutStepsAreTheirInitialValue) {
  tir::PrimFuncRef func = parse_program(kSum);
  schedule::Schedule swapped(func);
  auto loops = swapped.loops(swapped.block("sum"));
  swapped.reorder({loops[1], loops[0]});
  DeviceKernels kernels("cpu");
  kernels.add_scheduled(*func);
  kernels.add_scheduled(*swapped.func());
  kernels.load();
  for (int32_t kernel : {0, 1}) {
    std::vector<HostTensor> tensors = make_arguments(*func, {{"n", 3}, {"m", 0}}, true);
    kernels.run(kernel, tensors, {3, 0});
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(tensors[1].at_f64(i), 0.5) << kernel;
  }
}

TEST(NativeSchedules, WorkGroupsAreRefusedOnTheProcessor) {
  schedule::Schedule schedule(parse_program(kElementwise));
  auto loops = schedule.loops(schedule.block("add"));
  schedule.bind(loops[0], "workgroup");
  schedule.bind(loops[1], "thread");
  ASSERT_TRUE(has_groups(*schedule.func()));
  expect_user_error(
      [&] {
        codegen::check_program(*schedule.func(), target::parse_target("cpu").description, "k");
      },
      {"the target has no work groups"});
}

}  // namespace
}  // namespace tapml::testing
