// An operator is added from outside: one entry, and no file of src/ changes.
#include <gtest/gtest.h>

#include <cmath>

#include "app/platforms.h"
#include "build/block_builder.h"
#include "interp/interpreter.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"
#include "topdown/reference_run/compare.h"
#include "toy_operator.h"

namespace tapml {
namespace {

constexpr const char* kProgram = R"(module

def main(x: Tensor((n, 40), f32), w: Tensor((40, 24), f32)) -> Tensor((n, 24), f32) {
  dataflow {
    a: Tensor((n, 24), f32) = matmul(x, w)
    b: Tensor((n, 24), f32) = softsign(a)
    output b
  }
  return b
}
)";

Module parsed() {
  return text::parse(kProgram, "m.txt", {.find_operator = testing::find_toy_operator});
}

HostTensor ramp(Shape shape, double step) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, std::sin(step * static_cast<double>(i)));
  }
  return tensor;
}

class ToyOperator : public ::testing::TestWithParam<const char*> {};

TEST_P(ToyOperator, IsFusedIntoAProductAndMatchesItsReference) {
  const Module module = parsed();
  pipeline::check_input(module, "m.txt");
  target::Target target = target::parse_target(GetParam());
  const auto session = app::open_session(target);
  const auto executable = pipeline::compile(module, target);
  ASSERT_EQ(executable->kernels.size(), 1u);
  EXPECT_NE(executable->kernels[0].name.find("softsign"), std::string::npos)
      << executable->kernels[0].name;

  const HostTensor x = ramp({7, 40}, 0.3), w = ramp({40, 24}, 0.7);
  const auto vm = unwrap(session->open_vm(executable));
  const std::vector<runtime::Value> arguments = {unwrap(runtime::upload(*session, x)),
                                                 unwrap(runtime::upload(*session, w))};
  const runtime::Value result = unwrap(vm->call("main", arguments));
  const HostTensor found = unwrap(runtime::download(*result.tensor()));
  const interp::Value expected = interp::call(module, "main",
                                              {interp::Value::tensor(op::RefTensor::from(x)),
                                               interp::Value::tensor(op::RefTensor::from(w))});
  const topdown::Errors errors = topdown::measure(found, expected.as_tensor(), {});
  EXPECT_EQ(errors.compared, 7 * 24);
  EXPECT_TRUE(topdown::within_bound(errors)) << errors.max_ratio << " times the bound";
  EXPECT_NEAR(expected.as_tensor().values[1], expected.as_tensor().values[1] > 0 ? 0.5 : -0.5, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Platforms, ToyOperator, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ToyOperatorText, PrintsAndParses) {
  const Module module = parsed();
  const Module again =
      text::parse(text::print(module), "again.txt", {.find_operator = testing::find_toy_operator});
  EXPECT_TRUE(text::structural_equal(module, again));
}

TEST(ToyOperatorText, IsUnknownToThoseWhoDoNotPassIt) {
  testing::expect_user_error([] { pipeline::check_input(text::parse(kProgram, "m.txt"), "m.txt"); },
                             {"no operator is called 'softsign'"});
}

TEST(ToyOperatorBuilder, IsDeducedInTheGraphBuilder) {
  const Module module;
  build::FunctionBuilder f(module);
  const relax::Variable x =
      f.param("x", relax::tensor_annotation({PrimExpr(make_var("n")), PrimExpr(4)}, DType::kF16));
  f.begin_dataflow();
  const relax::Variable y = f.emit(op::make_call(testing::softsign(), {x}), "y", true);
  f.end_dataflow();
  const relax::FunctionRef function = f.finish(y);
  EXPECT_EQ(*relax::as_tensor(function->result)->dtype, DType::kF16);
}

}  // namespace
}  // namespace tapml
