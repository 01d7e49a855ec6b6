// The pages that `--report` writes for the demo model.
#include <gtest/gtest.h>

#include "support/program.h"
#include "support/well_formed.h"

namespace tapml {
namespace {

using testing::kDemoModel;
using testing::ProgramResult;
using testing::read_bytes;
using testing::run_program;
using testing::TempFolder;

TEST(Report, TheCommandsOfThePageReproduceTheFailure) {
  TempFolder folder;
  const std::string kernel = "rms_norm_485247dc", fault = kernel + ":dropped-tail";
  ProgramResult result = run_program({"migrate", kDemoModel, "--from", "cpu", "--to",
                                      "cpu:threads=1", "--prompt", "Emma <b>was", "--max-tokens",
                                      "2", "--inject-fault", fault, "--report", folder / "m"});
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const std::string page = read_bytes(folder / "m/report.html");
  EXPECT_EQ(testing::markup_fault(page), "");
  EXPECT_NE(page.find("tapml replay '" + kernel +
                      "/suite' --target 'cpu:threads=1' --inject-fault '" + fault + "'"),
            std::string::npos);
  EXPECT_NE(page.find("elements are outside of their bounds, in row"), std::string::npos);
  EXPECT_NE(page.find("Emma &lt;b&gt;was"), std::string::npos);

  const std::vector<std::string> replay = {"replay",   folder / ("m/" + kernel + "/suite"),
                                           "--target", "cpu:threads=1",
                                           "--report", folder / "r",
                                           "--json"};
  result = run_program(replay);
  EXPECT_EQ(result.exit_code, 0) << "without the bug\n" << result.all();
  EXPECT_EQ(testing::markup_fault(read_bytes(folder / "r/report.html")), "");
  std::vector<std::string> faulty = replay;
  faulty.insert(faulty.end(), {"--inject-fault", fault});
  result = run_program(faulty);
  ASSERT_EQ(result.exit_code, 1) << result.all();
  const std::string again = read_bytes(folder / "r/report.html");
  EXPECT_EQ(testing::markup_fault(again), "");
  EXPECT_NE(again.find("1 of 1 kernel is wrong on cpu:threads=1."), std::string::npos);
  const Json difference = *result.json().find("kernels")->items()[0].find("difference");
  EXPECT_GT(difference.find("outside")->as_integer(), 0);
  EXPECT_EQ(std::ssize(difference.find("blocks")->items()),
            difference.find("rows")->as_integer() * difference.find("columns")->as_integer());
}

}  // namespace
}  // namespace tapml
