// Suites with inconsistent parts.
#include "topdown/suite/check_suite.h"

#include <gtest/gtest.h>

#include "io/host/files.h"
#include "passes/legalize.h"
#include "support/expect_error.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::topdown {
namespace {

// One call of exp over f32[3, 4].
Suite good_suite() {
  Module module =
      passes::legalize(text::parse("def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {\n"
                                   "y: Tensor((n, 4), f32) = exp(x)\nreturn y }",
                                   "test"));
  module.functions.erase("main");
  Suite suite;
  suite.source = "cpu";
  SuiteKernel kernel;
  kernel.name = module.functions.begin()->first;
  kernel.spec = text::print(module);
  kernel.params = {"x", "out"};
  kernel.modes = {AccessMode::kIn, AccessMode::kOut};
  HostTensor tensor = HostTensor::zeros(DType::kF32, {3, 4});
  std::string hash = content_hash(tensor);
  suite.tensors.emplace(hash, tensor);
  SuiteCall call;
  call.function = "main";
  call.scalars = {3};
  call.before = {hash, ""};
  call.after = {"", hash};
  suite.kernels = {kernel};
  suite.calls = {call};
  return suite;
}

void expect_refused(const Suite& suite, const std::vector<std::string>& parts) {
  Status status = check_suite(suite, "suite.json");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kUser) << status.error().to_string();
  testing::expect_parts(status.error(), parts);
}

TEST(CheckSuite, AcceptsAConsistentSuite) {
  Status status = check_suite(good_suite(), "suite.json");
  EXPECT_TRUE(status) << status.error().to_string();
}

TEST(CheckSuite, CallsThatDoNotFitTheirKernel) {
  Suite suite = good_suite();
  suite.calls[0].scalars = {};
  expect_refused(suite, {"suite.json", "exp_", "1 scalars"});
  suite.calls[0].scalars = {4};
  expect_refused(suite, {"suite.json", "f32[4, 4]", "f32[3, 4]"});
  suite = good_suite();
  HostTensor other = HostTensor::zeros(DType::kI32, {3, 4});
  suite.tensors.emplace("other", other);
  suite.calls[0].after[1] = "other";
  expect_refused(suite, {"i32[3, 4]"});
}

TEST(CheckSuite, KernelsThatDoNotFitTheirSpec) {
  Suite suite = good_suite();
  suite.kernels[0].modes[1] = AccessMode::kIn;
  expect_refused(suite, {"signature", "exp_"});
  suite = good_suite();
  suite.kernels[0].params.pop_back();
  suite.kernels[0].modes.pop_back();
  expect_refused(suite, {"2 parameters"});
  suite = good_suite();
  suite.kernels[0].spec = "module";
  expect_refused(suite, {"exp_"});
  suite = good_suite();
  suite.kernels[0].spec += "\ndef more(x: Object) -> Object { return x }";
  expect_refused(suite, {"exp_"});
  suite = good_suite();
  suite.kernels.push_back(suite.kernels[0]);
  expect_refused(suite, {"the same name"});
}

TEST(LoadSuite, ReportsAnAlteredSpec) {
  testing::TempFolder folder;
  ASSERT_TRUE(save_suite(good_suite(), folder / "suite"));
  ASSERT_TRUE(load_suite(folder / "suite"));
  std::string file = folder / "suite/suite.json";
  std::string text = read_text_file(file).value();
  size_t at = text.find("= exp(");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 6, "= cos(");
  ASSERT_TRUE(write_text_atomic(file, text));
  auto suite = load_suite(folder / "suite");
  ASSERT_FALSE(suite);
  EXPECT_EQ(suite.error().kind, ErrorKind::kUser);
  testing::expect_parts(suite.error(), {"altered", "exp_"});
}

}  // namespace
}  // namespace tapml::topdown
