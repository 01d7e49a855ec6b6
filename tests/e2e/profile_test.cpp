// The output of `tapml profile` and `tapml devices --measure`.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "io/json.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::run_program;

double number(const Json& object, const char* name) {
  const Json* found = object.find(name);
  EXPECT_NE(found, nullptr) << name;
  return found ? found->as_double() : 0;
}

TEST(ProfileProgram, ReportsTimeAndWorkOfEveryKernel) {
  testing::TempFolder folder;
  ProgramResult result = run_program({"profile", kDemoModel, "--target", "cpu", "--max-tokens", "3",
                                      "--trace", folder / "trace.json", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json document = result.json();
  EXPECT_GT(number(*document.find("ceilings"), "flops_per_s"), 0);
  EXPECT_GT(number(*document.find("ceilings"), "bytes_per_s"), 0);
  const auto& kernels = document.find("kernels")->items();
  ASSERT_GT(kernels.size(), 5u);
  bool has_layer = false;
  double seconds = 0;
  size_t compared = 0;
  for (const Json& kernel : kernels) {
    SCOPED_TRACE(kernel.find("kernel")->as_string());
    EXPECT_GE(number(kernel, "calls"), 1);
    EXPECT_GT(number(kernel, "seconds"), 0);
    EXPECT_GT(number(kernel, "bytes"), 0);
    EXPECT_GE(number(kernel, "flops"), 0);
    // Data-dependent work is counted only approximately, and has no share.
    const bool exact = kernel.find("exact")->as_bool();
    EXPECT_EQ(number(kernel, "share_of_ceiling") > 0, exact);
    compared += exact;
    seconds += number(kernel, "seconds");
    for (const Json& layer : kernel.find("layers")->items()) {
      has_layer |= layer.as_string() == "model.layers.0.mlp";
    }
  }
  EXPECT_TRUE(has_layer);
  EXPECT_GT(compared, kernels.size() / 2);
  EXPECT_NEAR(seconds, number(document, "seconds"), 1e-6 * seconds);

  std::ostringstream text;
  text << std::ifstream(folder / "trace.json").rdbuf();
  auto trace = parse_json(text.str(), "trace.json");
  ASSERT_TRUE(trace) << trace.error().to_string();
  size_t timed = 0;
  for (const Json& event : trace->find("traceEvents")->items()) {
    timed += event.find("ph")->as_string() == "X";
  }
  EXPECT_GT(timed, 100u);
}

TEST(ProfileProgram, PrintsATable) {
  ProgramResult result =
      run_program({"profile", kDemoModel, "--target", "cpu", "--max-tokens", "1"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  for (const char* part : {"matmul", "calls", "GB/s", "GFLOP/s"}) {
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " in\n" << result.out;
  }
}

TEST(DevicesProgram, MeasuresPeakRates) {
  ProgramResult result = run_program({"devices", "--measure", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.all();
  const Json document = result.json();
  for (const Json& platform : document.find("platforms")->items()) {
    if (platform.find("platform")->as_string() != "cpu") continue;
    EXPECT_GT(number(*platform.find("ceilings"), "flops_per_s"), 1e8);
    EXPECT_GT(number(*platform.find("ceilings"), "bytes_per_s"), 1e8);
  }
}

}  // namespace
}  // namespace tapml
