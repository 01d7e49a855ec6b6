// A suite with a hand-written tensor program: carved, stored, replayed.
#include <gtest/gtest.h>

#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/expect_error.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

const char* const kScaledTotal = R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = silu(x)
    b: Tensor((n, 8), f32) = call_tir(@scaled, (a,), Tensor((n, 8), f32))
    c: Tensor((n,), f32) = call_tir(@total, (b,), Tensor((n,), f32))
    output c
  }
  return c
}
prim def scaled(x: Buffer((m, k), f32), out y: Buffer((m, k), f32), m: i64, k: i64) {
  for i in parallel(m) { for j in serial(k) { y[i, j] = x[i, j] * f32(1.5) } }
}
prim def total(x: Buffer((m, k), f32), out y: Buffer((m,), f32), m: i64, k: i64) {
  for i in parallel(m) {
    alloc sum: Buffer((1,), f32, local)
    sum[0] = f32(0.0)
    for j in serial(k) { if (f32(-100.0) < x[i, j]) { sum[0] = sum[0] + x[i, j] } }
    y[i] = sum[0]
  }
})";

Suite carved_total() {
  auto session = testing::open_session("cpu");
  auto executable =
      pipeline::compile(text::parse(kScaledTotal, "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  for (int64_t n : {1, 30}) {
    HostTensor x = HostTensor::zeros(DType::kF32, {n, 8});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 0.37 * static_cast<double>(i % 7 - 3));
    std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x))};
    unwrap(vm->call("main", args));
  }
  vm->call_point().set_observer(nullptr);
  return carver.take();
}

TEST(ProgramSuite, ReplaysFromDiskOnEveryPlatform) {
  Suite suite = carved_total();
  ASSERT_EQ(suite.kernels.size(), 2u);
  EXPECT_EQ(suite.kernels[0].name.substr(0, 12), "silu_scaled_");
  EXPECT_EQ(suite.kernels[1].name.substr(0, 6), "total_");
  testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "suite"));
  Suite loaded = unwrap(load_suite(folder / "suite"));
  for (const char* platform : {"cpu", "opencl"}) {
    auto session = testing::open_session(platform);
    if (!session) continue;
    KernelReference reference(loaded);
    auto executable = pipeline::implement(reference.module(), target::parse_target(platform));
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (int32_t kernel = 0; kernel < 2; ++kernel) {
      KernelVerdict verdict = unwrap(replay_kernel(loaded, reference, kernel, *runner));
      EXPECT_TRUE(verdict.passed) << platform << " " << verdict.kernel;
      EXPECT_FALSE(verdict.source_wrong) << verdict.kernel;
      EXPECT_EQ(verdict.calls, 2);
      EXPECT_LT(verdict.worst.allowed, 1e-4) << verdict.kernel;
    }
  }
}

TEST(ProgramSuite, AnInjectedFaultIsDetected) {
  Suite suite = carved_total();
  auto session = testing::open_session("cpu");
  target::Target target = target::parse_target("cpu");
  Sandbox sandbox({target, session.get()});
  KernelReference reference(suite);
  for (const char* kernel : {"silu_scaled_", "total_"}) {
    FaultyKernel faulty = inject_fault(suite, reference, kernel, FaultKind::kOffByOne, sandbox);
    pipeline::ImplementOptions options;
    options.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
      return name == faulty.kernel ? faulty.implementation : scheduled;
    };
    auto executable = pipeline::implement(reference.module(), target, options);
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (int32_t k = 0; k < 2; ++k) {
      KernelVerdict verdict = unwrap(replay_kernel(suite, reference, k, *runner));
      EXPECT_EQ(verdict.passed, verdict.kernel != faulty.kernel) << verdict.kernel;
    }
  }
}

TEST(ProgramSuite, AnAlteredProgramIsRefused) {
  Suite suite = carved_total();
  std::string& spec = suite.kernels[1].spec;
  size_t at = spec.find("@total,");
  ASSERT_NE(at, std::string::npos) << spec;
  spec.replace(at, 7, "@" + suite.kernels[1].name + "_impl,");
  testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "suite"));
  auto loaded = load_suite(folder / "suite");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kUser);
}

}  // namespace
}  // namespace tapml::topdown
