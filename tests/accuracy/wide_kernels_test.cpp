// Kernels of real width (Llama 4096 / 11008): right ones pass on every platform, and nearly right
// ones are found, each alone.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

// The kernels of a layer whose sums are long, with fewer columns than they have in the model.
const char* const kLayer = R"(module
def main(x: Tensor((m, 4096), f32), norm: Tensor((4096,), f32), gate: Tensor((64, 4096), f32),
         up: Tensor((64, 4096), f32), inner: Tensor((m, 11008), f32),
         down: Tensor((64, 11008), f32)) -> Tuple(Tensor((m, 64), f32), Tensor((m, 64), f32)) {
  dataflow {
    a: Tensor((m, 4096), f32) = rms_norm(x, norm) {epsilon: 1e-05}
    b: Tensor((m, 64), f32) = matmul(a, up) {transpose_b: true}
    c: Tensor((m, 64), f32) = matmul(a, gate) {transpose_b: true}
    d: Tensor((m, 64), f32) = silu(c)
    e: Tensor((m, 64), f32) = multiply(d, b)
    f: Tensor((m, 64), f32) = matmul(inner, down) {transpose_b: true}
    output e, f
  }
  return (e, f)
})";

HostTensor normal(Shape shape, double scale, const std::string& name, double mean = 0) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::normal_distribution<double> numbers(mean, scale);
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, numbers(random));
  return tensor;
}

Suite carved_layer() {
  auto session = testing::open_session("cpu");
  auto executable = pipeline::compile(text::parse(kLayer, "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  for (int64_t m : {1, 3}) {
    std::vector<runtime::Value> args;
    const auto add = [&](const HostTensor& tensor) {
      args.push_back(unwrap(runtime::upload(*session, tensor)));
    };
    add(normal({m, 4096}, 0.05, "x"));
    add(normal({4096}, 0.1, "norm", 1));
    add(normal({64, 4096}, 0.02, "gate"));
    add(normal({64, 4096}, 0.02, "up"));
    add(normal({m, 11008}, 1, "inner"));
    add(normal({64, 11008}, 0.02, "down"));
    unwrap(vm->call("main", args));
  }
  vm->call_point().set_observer(nullptr);
  Suite suite = carver.take();
  suite.source = "cpu";
  return suite;
}

class WideKernels : public ::testing::Test {
 protected:
  static const Suite& suite() {
    static const Suite carved = carved_layer();
    return carved;
  }
  static int32_t kernel_named(const std::string& beginning) {
    for (size_t k = 0; k < suite().kernels.size(); ++k) {
      if (suite().kernels[k].name.starts_with(beginning)) return static_cast<int32_t>(k);
    }
    ADD_FAILURE() << "no kernel " << beginning;
    return 0;
  }
};

TEST_F(WideKernels, RightOnesPassOnEveryPlatform) {
  for (const char* platform : {"cpu", "opencl", "vulkan"}) {
    auto session = testing::open_session(platform);
    ASSERT_TRUE(session) << platform;
    KernelReference reference(suite());
    auto executable = pipeline::implement(reference.module(), target::parse_target(platform));
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (size_t k = 0; k < suite().kernels.size(); ++k) {
      const KernelVerdict verdict =
          unwrap(replay_kernel(suite(), reference, static_cast<int32_t>(k), *runner));
      EXPECT_EQ(verdict_outcome(verdict), "pass") << platform << " " << verdict.kernel << ": "
                                                  << verdict.note;
      EXPECT_FALSE(verdict.source_wrong);
    }
  }
}

struct NearlyRight {
  const char* kernel;
  FaultKind kind;
  const char* cause;  // a part of the note
};

TEST_F(WideKernels, NearlyRightOnesAreFound) {
  using enum FaultKind;
  const std::vector<NearlyRight> all = {
      {"rms_norm", kHalfInput, ""},
      {"rms_norm", kSlightGain, "1.0001"},
      {"rms_norm", kInexactFunction, "a factor of 0.9999"},
      {"rms_norm", kSmallerEpsilon, ""},
      {"rms_norm", kTruncatedInput, ""},
      {"matmul_silu_multiply", kHalfInput, "f16"},
      {"matmul_silu_multiply", kHalfProducts, "products rounded to f16"},
      {"matmul_silu_multiply", kTruncatedInput, "bf16"},
      {"matmul_silu_multiply", kSlightGain, "1.0001"},
      {"matmul_silu_multiply", kInexactFunction, ""},
      {"matmul_silu_multiply", kHalfAccumulation, ""},
      {"matmul_", kHalfInput, "f16"},
      {"matmul_", kHalfProducts, "products rounded to f16"},
      {"matmul_", kTruncatedInput, "bf16"},
      {"matmul_", kSlightGain, "1.0001"},
      {"matmul_", kHalfAccumulation, ""},
      {"matmul_", kWrongAccumulation, ""},
  };
  auto session = testing::open_session("cpu");
  ASSERT_TRUE(session);
  const target::Target target = target::parse_target("cpu");
  Sandbox sandbox({target, session.get()});
  for (const NearlyRight& one : all) {
    KernelReference reference(suite());
    const int32_t kernel = kernel_named(one.kernel);
    const std::string& name = suite().kernels[static_cast<size_t>(kernel)].name;
    const FaultyKernel faulty = inject_fault(suite(), reference, name, one.kind, sandbox);
    pipeline::ImplementOptions options;
    options.rewrite = [&](const std::string& implemented, tir::PrimFuncRef scheduled) {
      return implemented == name ? faulty.implementation : scheduled;
    };
    auto executable = pipeline::implement(reference.module(), target, options);
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    const KernelVerdict verdict = unwrap(replay_kernel(suite(), reference, kernel, *runner));
    const std::string outcome = verdict_outcome(verdict);
    EXPECT_TRUE(outcome == "imprecise" || outcome == "mismatch")
        << name << ", " << fault_kind_name(one.kind) << ": " << outcome << ", error over bound "
        << verdict.worst.target.max_ratio << ", rms " << verdict.worst.target.precision.rms;
    EXPECT_NE(verdict.note.find(one.cause), std::string::npos)
        << name << ", " << fault_kind_name(one.kind) << ": " << verdict.note;
  }
}

}  // namespace
}  // namespace tapml::topdown
