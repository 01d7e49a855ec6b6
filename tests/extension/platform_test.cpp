// A platform is added from outside: a row of the table of platforms, and no file of src/ changes.
#include <gtest/gtest.h>

#include <regex>

#include "app/platforms.h"
#include "interp/interpreter.h"
#include "llm/engine.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "support/expect_error.h"
#include "support/golden_models.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "topdown/replay/kernel_source.h"
#include "topdown/verdict/compare.h"
#include "topdown/verdict/device_check.h"
#include "toy_platform.h"

namespace tapml {
namespace {

class ToyPlatform : public ::testing::Test {
 protected:
  void SetUp() override { session_ = app::open_session(target_); }

  target::Target target_ = target::parse_target("toy", testing::with_toy_platform());
  std::unique_ptr<runtime::Session> session_;
};

HostTensor waves(Shape shape, double step) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, std::move(shape));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    tensor.set_f64(i, std::sin(step * static_cast<double>(i)));
  }
  return tensor;
}

TEST_F(ToyPlatform, AProductAndASoftmaxAreWhatTheReferenceSays) {
  const Module module = text::parse(R"(module

def main(x: Tensor((n, 40), f32), w: Tensor((40, 24), f32)) -> Tensor((n, 24), f32) {
  dataflow {
    a: Tensor((n, 24), f32) = matmul(x, w)
    b: Tensor((n, 24), f32) = softmax(a)
    output b
  }
  return b
}
)",
                                    "m.txt");
  pipeline::check_input(module, "m.txt");
  const HostTensor x = waves({7, 40}, 0.3), w = waves({40, 24}, 0.7);
  const auto executable = pipeline::compile(module, target_);
  ASSERT_EQ(executable->modules.size(), 1u);
  EXPECT_EQ(executable->modules[0].platform, "toy");
  auto machine = unwrap(session_->open_machine(executable));
  const std::vector<runtime::Value> arguments = {unwrap(runtime::upload(*session_, x)),
                                                 unwrap(runtime::upload(*session_, w))};
  const runtime::Value result = unwrap(machine->call("main", arguments));
  const HostTensor found = unwrap(runtime::download(*result.tensor()));
  const interp::Value expected = interp::call(module, "main",
                                              {interp::Value::tensor(op::RefTensor::from(x)),
                                               interp::Value::tensor(op::RefTensor::from(w))});
  const topdown::Errors errors = topdown::measure(found, expected.as_tensor(), 0);
  EXPECT_EQ(errors.judged, 7 * 24);
  EXPECT_TRUE(topdown::within_bound(errors)) << errors.max_ratio << " times the bound";
}

TEST_F(ToyPlatform, DoesWhatEveryPlatformMustDo) {
  const auto checks = topdown::check_device(*session_, target_);
  EXPECT_GT(checks.size(), 10u);
  for (const topdown::DeviceCheck& check : checks) {
    EXPECT_TRUE(check.passed()) << check.name << ": " << check.found;
  }
}

TEST_F(ToyPlatform, TheDemoModelsLogitsAreThoseOfPyTorch) {
  const testing::GoldenModel golden = testing::golden_model("demo");
  const auto executable = pipeline::compile(golden.model.module, target_);
  auto engine = unwrap(llm::Engine::create(*session_, executable, golden.model.weights, {}));
  const HostTensor& expected = golden.reference.at("logits");
  const HostTensor logits =
      unwrap(engine->logits_all(golden.reference.at("tokens").values<int32_t>()));
  ASSERT_EQ(logits.shape(), expected.shape());
  EXPECT_LE(testing::largest_difference(logits, expected), testing::logit_tolerance(expected));
}

TEST_F(ToyPlatform, ItsSourceIsShown) {
  const Module fixed = pipeline::form_kernels(
      text::parse("module\n\ndef main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {\n"
                  "  dataflow { a: Tensor((n,), f32) = relu(x)\n output a\n }\n  return a\n}\n",
                  "m.txt"));
  const std::string kernel = pipeline::compile(fixed, target_)->kernels.at(0).name;
  const topdown::KernelSource source = topdown::kernel_source(fixed, kernel, target_, {});
  EXPECT_EQ(source.language, "toy-c");
  EXPECT_NE(source.code.find("\nkernel " + kernel), std::string::npos) << source.code;
}

TEST(PlatformTable, ARowIsSeenByThoseAloneWhoPassTheTable) {
  testing::expect_user_error([] { target::parse_target("toy"); },
                             {"unknown target \"toy\"", "one of cpu, opencl, vulkan, wasm, null"});
  testing::expect_user_error(
      [] { target::parse_target("tpu", testing::with_toy_platform()); },
      {"unknown target \"tpu\"", "one of cpu, opencl, vulkan, wasm, null, toy"});
  const auto all = app::list_platforms(testing::with_toy_platform());
  EXPECT_EQ(all.size(), target::platforms().size() + 1);
  EXPECT_EQ(all.back().platform, "toy");
  EXPECT_TRUE(all.back().here) << all.back().reason;
  EXPECT_EQ(all.back().info.name, "this process");
}

// The page lists what the toy is written against.
TEST(PlatformPage, ListsEveryHeaderThatThePlatformIncludes) {
  const std::string root = std::string(TAPML_SOURCE_DIR) + "/";
  const std::string page = testing::read_bytes(root + "docs/add-a-platform.md");
  const std::string code = testing::read_bytes(root + "tests/extension/toy_platform.cpp") +
                           testing::read_bytes(root + "tests/extension/toy_platform.h");
  const std::regex include("#include \"([^\"]+/[^\"]+)\"");
  int headers = 0;
  for (std::sregex_iterator it(code.begin(), code.end(), include), end; it != end; ++it) {
    const std::string header = (*it)[1];
    EXPECT_NE(page.find("`" + header + "`"), std::string::npos) << header << " is not on the page";
    ++headers;
  }
  EXPECT_GT(headers, 5);
}

}  // namespace
}  // namespace tapml
