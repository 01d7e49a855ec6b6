// Kernels that are correct in one launch and wrong in another, or write out of bounds.
#include <gtest/gtest.h>

#include <cfenv>

#include "device/watched/watched_device.h"
#include "ir/exceptions.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

// One kernel that is called with two weights, and another one.
constexpr const char* kTwice = R"(module
def main(x: Tensor((n, 8), f32), v: Tensor((8,), f32), w: Tensor((8,), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = multiply(x, v)
    b: Tensor((n, 8), f32) = multiply(a, w)
    c: Tensor((n, 8), f32) = tanh(b)
    output c
  }
  return c
}
)";

const Suite& unsteady_suite() {
  static const Suite kSuite = [] {
    auto session = testing::open_session("cpu");
    pipeline::Instruments instruments;
    instruments.skip = {"fuse_ops"};
    const Module fixed = pipeline::form_kernels(text::parse(kTwice, "m.txt"), instruments);
    auto executable = pipeline::implement(fixed, target::parse_target("cpu:libs=off"));
    auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
    Carver carver(*executable);
    vm->call_point().set_observer(&carver);
    std::vector<runtime::Value> args;
    for (const Shape& shape : {Shape{3, 8}, Shape{8}, Shape{8}}) {
      HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
      for (int64_t i = 0; i < tensor.size(); ++i) {
        tensor.set_f64(i, 0.3 * static_cast<double>(i + 1 + std::ssize(args)));
      }
      args.emplace_back(unwrap(runtime::upload(*session, tensor)));
    }
    unwrap(vm->call("main", args));
    vm->call_point().set_observer(nullptr);
    return carver.take();
  }();
  return kSuite;
}

int32_t number_of(const std::string& operators) {
  for (int32_t k = 0; k < std::ssize(unsteady_suite().kernels); ++k) {
    if (unsteady_suite().kernels[static_cast<size_t>(k)].name.starts_with(operators + "_"))
      return k;
  }
  ADD_FAILURE() << "no kernel " << operators;
  return -1;
}

// A product with `before` and `after` around its loop: `launches` counts them from 1, `factor`
// multiplies the result, `count` is the number of elements.
std::string product(const std::string& before, const std::string& after = "") {
  return R"(// prim def multiply(a: Buffer((n, 8), f32), b: Buffer((8,), f32), out out: Buffer((n, 8), f32), n: i64)
// launch multiply(a, b, out) over n * 8 in groups of 1000000
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
void multiply(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t count) {
  const float* a = buffers[0];
  const float* b = buffers[1];
  float* out = buffers[2];
  static int launches = 0;
  ++launches;
  float factor = 1;
)" + before +
         "\n  for (int64_t i = 0; i < count; ++i) out[i] = a[i] * b[i % 8] * factor;\n" + after +
         "\n}\n";
}
// Wrong in the launch that the test selects.
constexpr const char* kWrongOnce =
    "if (launches == atoi(getenv(\"TAPML_TEST_WRONG_LAUNCH\"))) factor = 1.5f;";
constexpr const char* kTanh =
    R"(// prim def tanh(a: Buffer((n, 8), f32), out out: Buffer((n, 8), f32), n: i64)
// launch tanh_rows(a, out) over n * 8 in groups of 1000000
#include <math.h>
#include <stdlib.h>
void tanh_rows(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t count) {
  const float* a = buffers[0];
  float* out = buffers[1];
  setenv("TAPML_TEST_OTHER_KERNEL", "ran", 1);
  for (int64_t i = 0; i < count; ++i) out[i] = tanhf(a[i]);
}
)";

// C kernels in place of the suite's, in a session of this process.
class UnsteadyKernel : public ::testing::Test {
 protected:
  KernelVerdict compared(const std::string& source, const ReplayOptions& options = {}) {
    open(source);
    return replay(options);
  }
  KernelVerdict replay(const ReplayOptions& options = {}) {
    KernelVerdict verdict = unwrap(
        replay_kernel(unsteady_suite(), *reference_, number_of("multiply"), *sandbox_, options));
    launched_ += verdict.launches.launches;
    return verdict;
  }
  // With kWrongOnce: launch `launch` of these is wrong.
  KernelVerdict replay_wrong_at(int launch, const ReplayOptions& options = {.seconds = 60}) {
    ::setenv("TAPML_TEST_WRONG_LAUNCH", std::to_string(launched_ + launch).c_str(), 1);
    return replay(options);
  }
  void open(const std::string& source) {
    const target::Target target = target::parse_target("cpu");
    TearDown();
    launched_ = 0;
    testing::write_bytes(folder_ / "multiply.c", source);
    testing::write_bytes(folder_ / "tanh.c", kTanh);
    reference_ = std::make_unique<KernelReference>(unsteady_suite());
    const CustomKernels user(read_custom_sources(folder_ / ".", target), reference_->module());
    pipeline::ImplementOptions implement;
    implement.foreign = user.compile(reference_->module(), target);
    auto device = std::make_shared<device::CpuDevice>(0, codegen::make_jit_loader(),
                                                      device::HostLibraries{}, true);
    session_ = unwrap(runtime::LocalSession::create(
        device::watch_launches(std::move(device), {.guard_memory = true})));
    sandbox_ = std::make_unique<Sandbox>(Platform{target, session_.get(), {}});
    sandbox_->load(pipeline::implement(reference_->module(), target, implement));
  }
  void TearDown() override {
    sandbox_.reset();
    session_.reset();
  }
  static std::string name_of(size_t param) {
    return unsteady_suite().kernels[static_cast<size_t>(number_of("multiply"))].params[param];
  }

  testing::TempFolder folder_;
  int64_t launched_ = 0;
  std::unique_ptr<KernelReference> reference_;
  std::unique_ptr<runtime::Session> session_;
  std::unique_ptr<Sandbox> sandbox_;
};

TEST_F(UnsteadyKernel, ACorrectKernelPassesTwentyLaunches) {
  const KernelVerdict verdict = compared(product(""), {.seconds = 60});
  EXPECT_TRUE(verdict.passed) << verdict.failure;
  EXPECT_EQ(verdict.calls, 2);
  EXPECT_EQ(verdict.launches.launches, 20);
  EXPECT_EQ(verdict.launches.wrong, 0);
  EXPECT_EQ(verdict.launches.unequal, 0);
  EXPECT_FALSE(verdict.launches.flaky);
  EXPECT_EQ(verdict.note, "");
}

TEST_F(UnsteadyKernel, OneLaunchOfTwentyIsFound) {
  open(product(kWrongOnce));
  for (const int launch : {1, 2, 5, 6, 20}) {
    const KernelVerdict verdict = replay_wrong_at(launch);
    EXPECT_FALSE(verdict.passed) << launch;
    EXPECT_EQ(verdict.failed, Failure::kNone);
    EXPECT_EQ(verdict.launches.launches, 20);
    EXPECT_EQ(verdict.launches.wrong, 1);
    EXPECT_TRUE(verdict.launches.flaky);
    EXPECT_EQ(verdict.note,
              "1 of 20 launches was wrong, in the order of seed 0, and other launches of the same "
              "call were right: flaky; not deterministic: " +
                  std::to_string(verdict.launches.unequal) +
                  " of 20 launches gave other bits than the first one of their call");
    EXPECT_GE(verdict.worst_sequence, 0);
    EXPECT_GT(verdict.worst.target.max_ratio, 1);
  }
}

TEST_F(UnsteadyKernel, OneInFiveAtRandomIsFoundWithItsRate) {
  const KernelVerdict verdict =
      compared(product("static uint32_t state = 7;\n  state = state * 1664525u + 1013904223u;\n"
                       "  if ((state >> 16) % 5 == 0) factor = 1.5f;"));
  EXPECT_FALSE(verdict.passed);
  EXPECT_TRUE(verdict.launches.flaky);
  EXPECT_GE(verdict.launches.wrong, 1);
  EXPECT_LE(verdict.launches.wrong, 10);
  EXPECT_NE(verdict.note.find(std::to_string(verdict.launches.wrong) + " of 20 launches"),
            std::string::npos)
      << verdict.note;
}

// More launches find rarer faults.
TEST_F(UnsteadyKernel, TheFortiethLaunchIsFoundByFifty) {
  open(product(kWrongOnce));
  EXPECT_TRUE(replay_wrong_at(40).passed);
  const KernelVerdict verdict = replay_wrong_at(40, {.launches = 50, .seconds = 60});
  EXPECT_EQ(verdict.launches.launches, 50);
  EXPECT_EQ(verdict.launches.wrong, 1);
}

// Correct for the weights of its first call, whichever these are.
TEST_F(UnsteadyKernel, KeptWeightsAreFound) {
  open(
      product("static float kept[8];\n  if (launches % 20 == 1) memcpy(kept, b, sizeof kept);\n"
              "  b = kept;"));
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const KernelVerdict verdict = replay({.seed = seed, .seconds = 60});
    EXPECT_FALSE(verdict.passed) << seed;
    EXPECT_EQ(verdict.launches.wrong, 10) << "each call has ten launches";
    EXPECT_FALSE(verdict.launches.flaky);
  }
}

// The same seed gives the same order, another seed another order.
TEST_F(UnsteadyKernel, TheSeedDeterminesTheOrder) {
  open(product(kWrongOnce));
  auto wrong_calls = [&](uint64_t seed) {
    std::string order;
    for (const int launch : {1, 3, 5, 7, 9}) {
      order += std::to_string(replay_wrong_at(launch, {.seed = seed}).worst_sequence) + " ";
    }
    return order;
  };
  const std::string first = wrong_calls(0);
  EXPECT_EQ(wrong_calls(0), first);
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 4; ++seed) orders.insert(wrong_calls(seed));
  EXPECT_GT(orders.size(), 1u);
}

TEST_F(UnsteadyKernel, OtherBitsWithinTheBoundAreOnlyReported) {
  const KernelVerdict verdict = compared(product("if (launches % 2 == 0) factor = 1.0000001f;"));
  EXPECT_TRUE(verdict.passed);
  EXPECT_GT(verdict.launches.unequal, 0);
  EXPECT_EQ(verdict.launches.wrong, 0);
  EXPECT_EQ(verdict.note.substr(0, 19), "not deterministic: ") << verdict.note;
}

TEST_F(UnsteadyKernel, RunsBetweenLaunchesOfOthers) {
  ::unsetenv("TAPML_TEST_OTHER_KERNEL");
  open(
      product("if (getenv(\"TAPML_TEST_OTHER_KERNEL\")) factor = 1.5f;\n"
              "  unsetenv(\"TAPML_TEST_OTHER_KERNEL\");"));
  auto replay = [&](const char* kernel) {
    return unwrap(replay_kernel(unsteady_suite(), *reference_, number_of(kernel), *sandbox_));
  };
  EXPECT_TRUE(replay("multiply").passed) << "no other kernel is known to be right";
  EXPECT_TRUE(replay("tanh").passed);
  const KernelVerdict verdict = replay("multiply");
  EXPECT_FALSE(verdict.passed);
  EXPECT_GE(verdict.launches.wrong, 5);
}

TEST_F(UnsteadyKernel, WritesPastAnOutputAreReported) {
  const KernelVerdict verdict =
      compared(product("", "  for (int i = 0; i < 75; ++i) out[count + i] = 1;"));
  EXPECT_EQ(verdict.failed, Failure::kOutOfBounds);
  EXPECT_EQ(verdict.failure, "writes outside of its outputs: 300 bytes after " + name_of(2));
}

// Right after the guards is unused memory, up to the page that ends the process.
TEST_F(UnsteadyKernel, WritesPastTheGuardsAreReported) {
  const KernelVerdict verdict = compared(product("", "  out[count + 65536 / 4] = 1;"));
  EXPECT_EQ(verdict.failed, Failure::kOutOfBounds);
  EXPECT_EQ(verdict.failure,
            "writes outside of its outputs: writes 65536 bytes after " + name_of(2));
}

TEST_F(UnsteadyKernel, AnInputThatALaterLaunchWritesIsReported) {
  const KernelVerdict verdict =
      compared(product("", "  if (launches == 7) ((float*)buffers[1])[3] = 42;"));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.failed, Failure::kOutOfBounds);
  EXPECT_EQ(verdict.failure, "writes outside of its outputs: 4 bytes of " + name_of(1));
}

TEST_F(UnsteadyKernel, RestoresTheProcessorState) {
  const KernelVerdict verdict = compared(product("", "  fesetround(FE_TOWARDZERO);"));
  EXPECT_EQ(verdict.failed, Failure::kSideEffect);
  EXPECT_EQ(verdict.failure,
            "the kernel leaves the floating-point environment changed: rounds towards zero" +
                std::string(
#ifdef __x86_64__
                    ", the x87 control word is 0xf7f instead of 0x37f"
#endif
                    ));
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST_F(UnsteadyKernel, LaunchesEndWhenThereIsNoTime) {
  const KernelVerdict verdict =
      compared(product("volatile double spin = 0;\n  for (int i = 0; i < 4000000; ++i) spin += 1;"),
               {.launches = 100000, .seconds = 0.01});
  EXPECT_TRUE(verdict.passed) << verdict.failure;
  EXPECT_TRUE(verdict.launches.cut);
  EXPECT_GE(verdict.launches.launches, 2);
  EXPECT_LT(verdict.launches.launches, 100000);
  EXPECT_NE(verdict.note.find("time ran out"), std::string::npos) << verdict.note;
}

}  // namespace
}  // namespace tapml::topdown
