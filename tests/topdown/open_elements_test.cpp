// Kernels with outputs that any values would pass: their tests prove nothing.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "topdown/replay/replay.h"
#include "topdown/suite/carve.h"

namespace tapml::topdown {
namespace {

// The replay of the kernels of `main` on the cpu, called with f32[rows, 8].
std::vector<KernelVerdict> replayed(const std::string& program, int64_t rows) {
  auto session = testing::open_session("cpu");
  auto executable = pipeline::compile(text::parse(program, "m.txt"), target::parse_target("cpu"));
  auto vm = unwrap(runtime::LocalVirtualMachine::create(*session, executable));
  Carver carver(*executable);
  vm->call_point().set_observer(&carver);
  HostTensor x = HostTensor::zeros(DType::kF32, {rows, 8});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 0.37 * static_cast<double>(i % 7 - 3));
  std::vector<runtime::Value> args = {unwrap(runtime::upload(*session, x))};
  unwrap(vm->call("main", args));
  vm->call_point().set_observer(nullptr);
  const Suite suite = carver.take();
  KernelReference reference(suite);
  auto again = pipeline::implement(reference.module(), target::parse_target("cpu"));
  auto runner = unwrap(runtime::KernelRunner::create(*session, again));
  std::vector<KernelVerdict> verdicts;
  for (int32_t kernel = 0; kernel < static_cast<int32_t>(suite.kernels.size()); ++kernel) {
    verdicts.push_back(unwrap(replay_kernel(suite, reference, kernel, *runner)));
  }
  return verdicts;
}

// The divisor is the difference of two roundings, which may be 0.
TEST(OpenElements, AKernelWithoutAnyBoundIsNotProven) {
  const std::vector<KernelVerdict> verdicts = replayed(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = tanh(x)
    b: Tensor((n, 8), f32) = sin(x)
    c: Tensor((n, 8), f32) = subtract(a, a)
    d: Tensor((n, 8), f32) = divide(b, c)
    output d
  }
  return d
})",
                                                       3);
  ASSERT_EQ(verdicts.size(), 1u);
  const KernelVerdict& verdict = verdicts[0];
  EXPECT_TRUE(verdict.passed);
  EXPECT_FALSE(verdict.proven());
  // tanh(0) is exact, so 0 / 0 is a NaN for certain.
  const ElementCount total = verdict.total();
  EXPECT_EQ(total.compared, 24);
  EXPECT_EQ(verdict_outcome(verdict), "not proven") << open_text(verdict);
}

// A comparison whose operands differ by less than their rounding may have either outcome.
TEST(OpenElements, UncertainTruthValuesAreCounted) {
  const std::vector<KernelVerdict> verdicts = replayed(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), bool) {
  dataflow {
    a: Tensor((n, 8), f32) = exp(x)
    b: Tensor((n, 8), f32) = log(a)
    c: Tensor((n, 8), bool) = less(b, x)
    output c
  }
  return c
})",
                                                       3);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_TRUE(verdicts[0].passed);
  EXPECT_EQ(open_text(verdicts[0]).substr(0, 13), "no element of");
}

// The same, where only zeros are as near.
TEST(OpenElements, AKernelWithSomeBoundsPasses) {
  const std::vector<KernelVerdict> verdicts = replayed(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), bool) {
  dataflow {
    a: Tensor((n, 8), f32) = exp(x)
    b: Tensor((n, 8), f32) = log(a)
    c: Tensor((n, 8), f32) = multiply(x, x)
    d: Tensor((n, 8), bool) = less(b, c)
    output d
  }
  return d
})",
                                                       3);
  ASSERT_EQ(verdicts.size(), 1u);
  EXPECT_EQ(verdict_outcome(verdicts[0]), "pass");
  EXPECT_EQ(open_text(verdicts[0]), "3 of 24 elements have no bound");
}

}  // namespace
}  // namespace tapml::topdown
