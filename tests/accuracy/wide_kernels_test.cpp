// Kernels of real width (Llama 4096 / 11008): right ones pass on every platform, and nearly right
// ones are found, each alone.
#include <gtest/gtest.h>

#include <random>

#include "ir/exceptions.h"
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

HostTensor normal(DType dtype, Shape shape, double scale, const std::string& name,
                  double mean = 0) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::normal_distribution<double> numbers(mean, scale);
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_f64(i, numbers(random));
  return tensor;
}

// All tensors of `dtype`; `spread`: the standard deviation of x. `half_sums`: products accumulate
// in f16 by their attribute.
Suite carved_layer(DType dtype = DType::kF32, double spread = 0.05, bool half_sums = false) {
  std::string text = kLayer;
  const std::string attribute = "{transpose_b: true}";
  for (size_t at = 0; half_sums && (at = text.find(attribute, at)) != std::string::npos;) {
    text.replace(at, attribute.size(), "{accumulation: f16, transpose_b: true}");
  }
  for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += 3) {
    text.replace(at, 3, dtype_name(dtype));
  }
  auto session = testing::open_session("cpu");
  auto executable = pipeline::compile(text::parse(text, "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  for (int64_t m : {1, 3}) {
    std::vector<runtime::Value> args;
    const auto add = [&](const HostTensor& tensor) {
      args.push_back(unwrap(runtime::upload(*session, tensor)));
    };
    add(normal(dtype, {m, 4096}, spread, "x"));
    add(normal(dtype, {4096}, 0.1, "norm", 1));
    add(normal(dtype, {64, 4096}, 0.02, "gate"));
    add(normal(dtype, {64, 4096}, 0.02, "up"));
    add(normal(dtype, {m, 11008}, 1, "inner"));
    add(normal(dtype, {64, 11008}, 0.02, "down"));
    unwrap(vm->call("main", args));
  }
  vm->call_point().set_observer(nullptr);
  Suite suite = carver.take();
  suite.source = "cpu";
  return suite;
}

int32_t kernel_named(const Suite& suite, const std::string& beginning) {
  for (size_t k = 0; k < suite.kernels.size(); ++k) {
    if (suite.kernels[k].name.starts_with(beginning)) return static_cast<int32_t>(k);
  }
  ADD_FAILURE() << "no kernel " << beginning;
  return 0;
}

// The verdict on the kernel on the cpu with a fault.
KernelVerdict verdict_with(const Suite& suite, const std::string& beginning, FaultKind kind,
                           const std::string& on = "cpu") {
  auto session = testing::open_session("cpu");
  const target::Target target = target::parse_target(on);
  Sandbox sandbox({target, session.get()});
  KernelReference reference(suite);
  const int32_t kernel = kernel_named(suite, beginning);
  const std::string& name = suite.kernels[static_cast<size_t>(kernel)].name;
  const FaultyKernel faulty = inject_fault(suite, reference, name, kind, sandbox);
  pipeline::ImplementOptions options;
  options.rewrite = [&](const std::string& implemented, tir::PrimFuncRef scheduled) {
    return implemented == name ? faulty.implementation : scheduled;
  };
  auto executable = pipeline::implement(reference.module(), target, options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  return unwrap(replay_kernel(suite, reference, kernel, *runner,
                              {.allowances = target.description.allowances}));
}

const Suite& layer() {
  static const Suite carved = carved_layer();
  return carved;
}

TEST(WideKernels, RightOnesPassOnEveryPlatform) {
  for (const char* platform : {"cpu", "opencl", "vulkan"}) {
    auto session = testing::open_session(platform);
    ASSERT_TRUE(session) << platform;
    KernelReference reference(layer());
    auto executable = pipeline::implement(reference.module(), target::parse_target(platform));
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (size_t k = 0; k < layer().kernels.size(); ++k) {
      const KernelVerdict verdict =
          unwrap(replay_kernel(layer(), reference, static_cast<int32_t>(k), *runner));
      EXPECT_EQ(verdict_outcome(verdict), "pass")
          << platform << " " << verdict.kernel << ": " << verdict.note;
      EXPECT_FALSE(verdict.source_wrong);
    }
  }
}

struct NearlyRight {
  const char* kernel;
  FaultKind kind;
  const char* cause;  // a part of the note
};

TEST(WideKernels, NearlyRightOnesAreFound) {
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
      {"matmul_silu_multiply", kHalfAccumulation, ""},
      {"matmul_", kHalfInput, "f16"},
      {"matmul_", kHalfProducts, "products rounded to f16"},
      {"matmul_", kTruncatedInput, "bf16"},
      {"matmul_", kSlightGain, "1.0001"},
      {"matmul_", kHalfAccumulation, ""},
      {"matmul_", kWrongAccumulation, ""},
  };
  for (const NearlyRight& one : all) {
    const KernelVerdict verdict = verdict_with(layer(), one.kernel, one.kind);
    const std::string outcome = verdict_outcome(verdict);
    EXPECT_TRUE(outcome == "imprecise" || outcome == "mismatch")
        << one.kernel << ", " << fault_kind_name(one.kind) << ": " << outcome
        << ", error over bound " << verdict.worst.target.max_ratio << ", rms "
        << verdict.worst.target.precision.rms;
    EXPECT_NE(verdict.note.find(one.cause), std::string::npos)
        << one.kernel << ", " << fault_kind_name(one.kind) << ": " << verdict.note;
  }
}

// With f16 tensors, rounding hides smaller faults; what is left over all elements shows them.
TEST(WideKernels, NearlyRightOnesAreFoundInF16) {
  using enum FaultKind;
  const Suite half = carved_layer(DType::kF16, 1);
  for (const NearlyRight& one : {NearlyRight{"rms_norm", kInexactFunction, "multiplied by 0.9999"},
                                 {"rms_norm", kHalfAccumulation, ""},
                                 {"matmul_silu_multiply", kHalfProducts, "products rounded to f16"},
                                 {"matmul_silu_multiply", kHalfAccumulation, ""},
                                 {"matmul_", kHalfProducts, "products rounded to f16"},
                                 {"matmul_", kWrongAccumulation, ""}}) {
    const KernelVerdict verdict = verdict_with(half, one.kernel, one.kind);
    EXPECT_FALSE(verdict.passed) << one.kernel << ", " << fault_kind_name(one.kind);
    EXPECT_NE(verdict.note.find(one.cause), std::string::npos)
        << one.kernel << ", " << fault_kind_name(one.kind) << ": " << verdict.note;
  }
}

struct WithAllowance {
  const char* kernel;
  FaultKind kind;
  const char* target;
  const char* needed;  // the allowances that the verdict names; null: it is wrong even with them
};

TEST(WideKernels, AllowancesOfTheTargetDecide) {
  using enum FaultKind;
  for (const WithAllowance& one : {
           WithAllowance{"matmul_", kHalfInput, "cpu:precision=tf32", "precision=tf32"},
           {"matmul_", kHalfInput, "cpu:precision=f16", "precision=f16"},
           {"matmul_", kHalfInput, "cpu:accumulation=f16", nullptr},
           {"matmul_", kTruncatedInput, "cpu:precision=tf32", nullptr},
           {"matmul_", kTruncatedInput, "cpu:precision=bf16", "precision=bf16"},
           {"matmul_", kHalfProducts, "cpu:accumulation=f16", "accumulation=f16"},
           // Its size is within the first; its shape needs the second.
           {"matmul_", kHalfProducts, "cpu:precision=tf32,accumulation=f16",
            "precision=tf32, accumulation=f16"},
           {"matmul_", kHalfProducts, "cpu:precision=tf32", nullptr},
           {"matmul_", kHalfAccumulation, "cpu:accumulation=f16", "accumulation=f16"},
           {"matmul_", kHalfAccumulation, "cpu:precision=tf32", nullptr},
           {"matmul_", kWrongAccumulation, "cpu:accumulation=f16", nullptr},
           {"matmul_silu_multiply", kHalfInput, "cpu:precision=tf32", "precision=tf32"},
           {"matmul_silu_multiply", kHalfAccumulation, "cpu:accumulation=f16", "accumulation=f16"},
           // No product of matrices.
           {"rms_norm", kHalfInput, "cpu:precision=tf32,accumulation=f16", nullptr},
           {"rms_norm", kInexactFunction, "cpu:division=relaxed", nullptr},
       }) {
    const std::string what =
        one.kernel + (", " + std::string(fault_kind_name(one.kind))) + " on " + one.target;
    EXPECT_FALSE(verdict_with(layer(), one.kernel, one.kind).passed) << what;
    const KernelVerdict verdict = verdict_with(layer(), one.kernel, one.kind, one.target);
    EXPECT_EQ(verdict.passed, one.needed != nullptr)
        << what << ": " << verdict_outcome(verdict) << ", " << verdict.note << ", error over bound "
        << verdict.worst.target.max_ratio;
    if (one.needed) {
      EXPECT_EQ(verdict.allowances, one.needed) << what;
      EXPECT_EQ(verdict.note, "") << what;
    } else {
      EXPECT_EQ(verdict.allowances.empty(), what.ends_with("division=relaxed"))
          << what << ": it names what it was compared with: " << verdict.allowances;
    }
  }
}

// What the program specifies is no allowance of the target.
TEST(WideKernels, AccumulationInF16MayBeSpecified) {
  using enum FaultKind;
  const Suite wide = carved_layer(DType::kF16, 1);
  const Suite half = carved_layer(DType::kF16, 1, true);
  for (const FaultKind kind : {kHalfProducts, kHalfAccumulation}) {
    EXPECT_FALSE(verdict_with(wide, "matmul_", kind).passed) << fault_kind_name(kind);
    const KernelVerdict verdict = verdict_with(half, "matmul_", kind);
    EXPECT_TRUE(verdict.passed) << fault_kind_name(kind) << ": " << verdict.note;
    EXPECT_EQ(verdict.allowances, "");
  }
  EXPECT_FALSE(verdict_with(half, "matmul_", kWrongAccumulation).passed) << "bf16 is coarser";
}

TEST(WideKernels, RightOnesNeedNoAllowance) {
  auto session = testing::open_session("cpu");
  const target::Target target =
      target::parse_target("cpu:precision=bf16,accumulation=f16,division=relaxed");
  KernelReference reference(layer());
  auto executable = pipeline::implement(reference.module(), target);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  for (size_t k = 0; k < layer().kernels.size(); ++k) {
    const KernelVerdict verdict =
        unwrap(replay_kernel(layer(), reference, static_cast<int32_t>(k), *runner,
                             {.allowances = target.description.allowances}));
    EXPECT_TRUE(verdict.passed);
    EXPECT_EQ(verdict.allowances, "") << verdict.kernel;
  }
}

// Faults that honest rounding hides, as docs/verdicts.md says: whoever finds them changes the page.
TEST(WideKernels, WhatThePageSaysIsHidden) {
  using enum FaultKind;
  for (DType dtype : {DType::kF32, DType::kF16}) {
    const Suite suite = carved_layer(dtype, 1);
    for (FaultKind kind : {kSmallerEpsilon, kHalfProducts}) {
      const KernelVerdict verdict = verdict_with(suite, "rms_norm", kind);
      EXPECT_TRUE(verdict.passed) << dtype_name(dtype) << ", " << fault_kind_name(kind);
    }
  }
}

}  // namespace
}  // namespace tapml::topdown
