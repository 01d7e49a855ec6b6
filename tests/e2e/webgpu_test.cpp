// WebGPU in a tab of a browser that the program starts.
#include <gtest/gtest.h>

#include "demo_run.h"
#include "support/expect_error.h"

namespace tapml {
namespace {

using testing::generate;
using testing::integers;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;

TEST(WebGpu, TheModelGivesTheSameTokens) {
  ProgramResult webgpu = generate("webgpu");
  if (webgpu.exit_code == 4 && webgpu.all().find("install") != std::string::npos) {
    GTEST_SKIP() << webgpu.all();
  }
  ASSERT_EQ(webgpu.exit_code, 0) << webgpu.all();
  ProgramResult cpu = generate("cpu");
  ASSERT_EQ(cpu.exit_code, 0) << cpu.all();
  EXPECT_EQ(integers(webgpu.json().find("tokens")).size(), 24U);
  EXPECT_EQ(integers(webgpu.json().find("tokens")), integers(cpu.json().find("tokens")));
}

TEST(WebGpu, NamesWhatIsMissing) {
  ProgramOptions without;
  without.environment["TAPML_BROWSER"] = "/nonexistent/browser";
  testing::expect_failure({"devices", "--target", "webgpu"}, 4,
                          {"there is no browser \"/nonexistent/browser\"", "package chromium"},
                          without);
  without.environment["TAPML_BROWSER"] = "/bin/false";
  testing::expect_failure({"devices", "--target", "webgpu"}, 4,
                          {"the browser has ended (exit code 1)"}, without);
}

}  // namespace
}  // namespace tapml
