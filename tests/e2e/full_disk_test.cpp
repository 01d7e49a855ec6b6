// Caches on a full disk, on the client and on the server.
#include "support/full_disk.h"

#include <gtest/gtest.h>

#include "support/background_server.h"

namespace tapml {
namespace {

using testing::BackgroundServer;
using testing::FullDisk;
using testing::kDemoModel;
using testing::ProgramOptions;
using testing::ProgramResult;
using testing::run_program;

std::string generated(const std::string& target, const ProgramOptions& options) {
  ProgramResult result = run_program(
      {"run", kDemoModel, "--target", target, "--prompt", "Moses", "--max-tokens", "4", "--json"},
      options);
  EXPECT_EQ(result.exit_code, 0) << result.all();
  const Json json = result.json();
  const Json* text = json.find("text");
  return text ? text->as_string() : "";
}

// With no free page, and with a few that small files take up.
class FullDiskTest : public ::testing::TestWithParam<size_t> {};

TEST_P(FullDiskTest, AClientsCacheIsLeftAlone) {
  const FullDisk disk(GetParam());
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system is not permitted";
  ProgramOptions without, full;
  without.environment["TAPML_CACHE"] = "off";
  full.environment["TAPML_CACHE"] = disk.path();
  const std::string text = generated("cpu", without);
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(generated("cpu", full), text);
  EXPECT_FALSE(disk.has_remains());
}

TEST_P(FullDiskTest, AServersCacheIsLeftAloneAndTheNextSessionWorks) {
  const FullDisk disk(GetParam());
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system is not permitted";
  ProgramOptions options;
  options.environment["TAPML_CACHE"] = "off";
  const std::string text = generated("cpu", options);
  testing::TempFolder folder;
  BackgroundServer server({"--listen", "unix:" + folder / "server"},
                          {{"TAPML_CACHE", disk.path()}});
  for (const std::string platform : {"cpu", "opencl", "cpu"}) {
    EXPECT_EQ(generated(platform + "@" + server.endpoint(), options), text) << server.log();
  }
  EXPECT_FALSE(disk.has_remains());
  EXPECT_EQ(server.end(), 0) << server.log();
}

// The suite does not fit: the part that was written must not pass for a complete suite.
TEST(FullDiskCarve, LeavesASuiteMarkedIncomplete) {
  const FullDisk disk(2 << 20, 2 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a file system is not permitted";
  const std::string suite = disk.path() + "/suite";
  const ProgramResult carved =
      run_program({"carve", kDemoModel, "--prompt", "Emma was", "--max-tokens", "2", "-o", suite});
  EXPECT_NE(carved.exit_code, 0) << carved.all();
  EXPECT_NE(carved.err.find("the disk is full"), std::string::npos) << carved.all();
  const ProgramResult listed = run_program({"suite", "ls", suite});
  EXPECT_EQ(listed.exit_code, 0) << listed.all();
  EXPECT_TRUE(listed.out.starts_with("the suite is incomplete: ")) << listed.all();
  const ProgramResult replayed = run_program({"replay", suite, "--json"});
  EXPECT_NE(replayed.exit_code, 0) << replayed.all();
  if (replayed.exit_code == 1) {
    EXPECT_EQ(replayed.json().find("verdict")->as_string(), "NOT PROVEN");
  }
}

INSTANTIATE_TEST_SUITE_P(Pages, FullDiskTest, ::testing::Values(0, 16 << 10));

}  // namespace
}  // namespace tapml
