// Edge cases find faults that a run's own data does not show.
#include "topdown/replay/edge_cases.h"

#include <gtest/gtest.h>

#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

const char* const kSigmoid = R"(module
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    y: Tensor((n,), f32) = sigmoid(x)
    output y
  }
  return y
}
)";

// Correct for the carved data: 16 small elements.
const char* const kOverflows = R"(module
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  for i in parallel(n) { y[i] = exp(x[i]) / (exp(x[i]) + f32(1.0)) }
}
)";
const char* const kDropsTail = R"(module
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {
  for i in parallel(n // 8 * 8) { y[i] = f32(1.0) / (exp(f32(0.0) - x[i]) + f32(1.0)) }
}
)";

class EdgeCasesTest : public ::testing::Test {
 protected:
  EdgeCasesTest() {
    const Module fixed = pipeline::form_kernels(text::parse(kSigmoid, "m.txt"));
    executable_ = pipeline::implement(fixed, target_);
    auto vm = unwrap(runtime::LocalVirtualMachine::create(*session_, executable_));
    Carver carver(*executable_);
    vm->call_point().set_observer(&carver);
    HostTensor x = HostTensor::zeros(DType::kF32, {16});
    for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 0.37 * static_cast<double>(i % 7 - 3));
    unwrap(vm->call("main", std::vector<runtime::Value>{unwrap(runtime::upload(*session_, x))}));
    vm->call_point().set_observer(nullptr);
    suite_ = carver.take();
  }

  EdgeCases add() {
    Sandbox source({target_, session_.get()});
    source.load(executable_);
    return add_edge_cases(suite_, source);
  }

  // The verdict on the suite's kernel, computed by `program` if given.
  KernelVerdict compared(const char* program = nullptr) {
    KernelReference reference(suite_);
    pipeline::ImplementOptions options;
    if (program) {
      const Module written = text::parse(program, "k");
      options.rewrite = [written](const std::string&, tir::PrimFuncRef) {
        return std::static_pointer_cast<const tir::PrimFunc>(written.functions.at("k"));
      };
    }
    auto executable = pipeline::implement(reference.module(), target_, options);
    auto runner = unwrap(runtime::KernelRunner::create(*session_, executable));
    return unwrap(replay_kernel(suite_, reference, 0, *runner));
  }

  target::Target target_ = target::parse_target("cpu");
  std::unique_ptr<runtime::Session> session_ = testing::open_session("cpu");
  std::shared_ptr<const Executable> executable_;
  Suite suite_;
};

TEST_F(EdgeCasesTest, FindFaultsThatTheRunDoesNotShow) {
  for (const char* program : {kOverflows, kDropsTail}) {
    EXPECT_TRUE(compared(program).passed) << "the run's data does not show it:" << program;
  }
  const EdgeCases cases = add();
  EXPECT_EQ(cases.added, 3 + 7) << "14 values, six a call; seven sizes";
  EXPECT_TRUE(cases.unsupported.empty());
  EXPECT_TRUE(compared().passed);
  for (const char* program : {kOverflows, kDropsTail}) {
    EXPECT_FALSE(compared(program).passed) << program;
  }
}

TEST_F(EdgeCasesTest, AreDerivedFromCarvedCalls) {
  const size_t carved = suite_.calls.size();
  EXPECT_EQ(add().added, 10);
  for (size_t c = carved; c < suite_.calls.size(); ++c) {
    EXPECT_EQ(suite_.calls[c].function, kEdgeFunction);
    EXPECT_EQ(suite_.calls[c].origin, suite_.calls[0].origin);
    EXPECT_GT(suite_.calls[c].sequence, suite_.calls[c - 1].sequence);
  }
  testing::TempFolder folder;
  unwrap(save_suite(suite_, folder / "s"));
  EXPECT_EQ(unwrap(load_suite(folder / "s")).calls.size(), suite_.calls.size());
}

// Tokens, pages and lengths stay valid; state is updated as in the run.
TEST(EdgeCases, OfAModelPassOnEveryPlatform) {
  Suite suite = carved();
  const size_t before = suite.calls.size();
  Sandbox source({target::parse_target("cpu"), small_model().session.get()});
  source.load(small_model().executable);
  const EdgeCases cases = add_edge_cases(suite, source);
  EXPECT_GT(cases.added, std::ssize(suite.kernels));
  EXPECT_EQ(suite.calls.size(), before + static_cast<size_t>(cases.added));
  for (const std::string& text : cases.unsupported) ADD_FAILURE() << text;
  for (const char* platform : {"cpu", "opencl"}) {
    auto session = testing::open_session(platform);
    if (!session) continue;
    KernelReference reference(suite);
    pipeline::ImplementOptions options;
    options.cache = &kernel_cache();
    auto executable =
        pipeline::implement(reference.module(), target::parse_target(platform), options);
    auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
    for (size_t k = 0; k < suite.kernels.size(); ++k) {
      const auto verdict =
          unwrap(replay_kernel(suite, reference, static_cast<int32_t>(k), *runner));
      EXPECT_TRUE(verdict.passed) << platform << " " << verdict.kernel << " call "
                                  << verdict.worst_sequence << ": " << verdict.worst.target.max_abs
                                  << " allowed " << verdict.worst.allowed << "; " << verdict.note;
    }
  }
}

}  // namespace
}  // namespace tapml::topdown
