// One VM that is called with many shapes: its memory stays bounded and its results correct.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/memory_meter.h"
#include "text/parser.h"

namespace tapml {
namespace {

using testing::compile_null;
using testing::Compiled;
using testing::Meter;
using testing::value_of;
using testing::Values;

const char* const kManyShapesProgram = R"(
def main(x: Tensor((n, 6), f32), w: Tensor((6, 10), f32)) -> Tensor((n, 10), f32) {
  a: Tensor((n, 10), f32) = matmul(x, w)
  b: Tensor((10, n), f32) = permute(a) {axes: [1, 0]}
  c: Tensor((n, n), f32) = matmul(a, b)
  d: Tensor((n, n), f32) = softmax(c) {axis: -1}
  e: Tensor((n, 10), f32) = matmul(d, a)
  f: Tensor((n, 10), f32) = cumsum(e) {axis: 0}
  g: Tensor((n, 10), f32) = add(f, a)
  return g
}
)";

std::vector<int64_t> shapes() {
  std::vector<int64_t> all;
  for (int64_t n = 1; n < 60; n += 7) all.push_back(n);           // growing
  for (int64_t n = 60; n > 0; n -= 9) all.push_back(n);           // shrinking
  for (int64_t i = 0; i < 8; ++i) all.push_back(i % 2 ? 3 : 47);  // alternating
  for (int64_t i = 0; i < 12; ++i) all.push_back(1 + i * i * 31 % 60);
  return all;
}

TEST(ManyShapes, AVirtualMachineHoldsNoMoreThanItsLargestCall) {
  Compiled compiled = compile_null(text::parse(kManyShapesProgram, "test"));
  const PrimExpr& peak = compiled.function("main").peak;
  Meter meter(compiled);
  meter.prepare("main", {{"n", 60}});  // the arguments exist from the first call on
  meter.load();
  int64_t most = 0;
  for (int64_t n : shapes()) {
    most = std::max(most, value_of(peak, {{"n", n}}));
    std::vector<runtime::Value> args = meter.args();
    runtime::Tensor x = *args[0].tensor();
    x.shape = Shape{n, 6};
    args[0] = runtime::Value(x);
    auto result = meter.vm().call("main", args);
    ASSERT_TRUE(result) << result.error().to_string();
    EXPECT_LE(meter.live_bytes(), most) << "n " << n;
    EXPECT_LE(meter.peak_bytes(), most) << "n " << n;
  }
}

TEST(ManyShapes, WithBoundsNothingIsAllocatedInTheSteadyState) {
  Compiled compiled = compile_null(text::parse(kManyShapesProgram, "test"), {{"n", 64}});
  EXPECT_GT(compiled.report.static_bytes, 0);
  Meter meter(compiled);
  meter.prepare("main", {{"n", 64}});
  meter.load();
  meter.call("main");
  const int64_t before = meter.allocations();
  for (int64_t n : shapes()) {
    std::vector<runtime::Value> args = meter.args();
    runtime::Tensor x = *args[0].tensor();
    x.shape = Shape{n, 6};
    args[0] = runtime::Value(x);
    auto result = meter.vm().call("main", args);
    ASSERT_TRUE(result) << result.error().to_string();
  }
  EXPECT_EQ(meter.allocations(), before);
}

// Results of one VM over all shapes, compared with a separate VM per shape whose tensors have
// separate storages.
class ManyShapesOn : public ::testing::TestWithParam<const char*> {
 protected:
  HostTensor run(runtime::Session& session, runtime::LocalVirtualMachine& vm, int64_t n) {
    auto filled = [](Shape shape) {
      HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
      for (int64_t i = 0; i < tensor.size(); ++i) {
        tensor.set_f64(i, static_cast<double>((i * 37 + 11) % 23) / 23 - 0.5);
      }
      return tensor;
    };
    std::vector<runtime::Value> args = {unwrap(runtime::upload(session, filled({n, 6}))),
                                        unwrap(runtime::upload(session, filled({6, 10})))};
    auto result = vm.call("main", args);
    if (!result) throw_internal(result.error().to_string());
    return unwrap(runtime::download(*result->tensor()));
  }
};

TEST_P(ManyShapesOn, ResultsStayRight) {
  auto session = testing::open_session(GetParam());
  if (!session) GTEST_SKIP() << GetParam() << " is unavailable";
  const target::Target target = target::parse_target(GetParam());
  Module module = text::parse(kManyShapesProgram, "test");
  pipeline::ImplementOptions apart;
  apart.memory = {.bounds = {}, .reuse = false, .in_place = false};
  auto plain = pipeline::compile(module, target, apart);
  for (bool bounded : {false, true}) {
    pipeline::ImplementOptions options;
    if (bounded) options.memory.bounds = {{"n", 64}};
    auto vm = unwrap(
        runtime::LocalVirtualMachine::create(*session, pipeline::compile(module, target, options)));
    for (int64_t n : shapes()) {
      auto fresh = unwrap(runtime::LocalVirtualMachine::create(*session, plain));
      HostTensor found = run(*session, *vm, n), expected = run(*session, *fresh, n);
      ASSERT_TRUE(std::ranges::equal(found.bytes(), expected.bytes()))
          << "n " << n << ", bounded " << bounded;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, ManyShapesOn, ::testing::Values("cpu", "opencl"));

}  // namespace
}  // namespace tapml
