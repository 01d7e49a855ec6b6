#include "app/same_platform.h"

#include <gtest/gtest.h>

#include "support/program.h"

namespace tapml::app {
namespace {

DeviceInfo device_called(const std::string& name) {
  DeviceInfo info;
  info.name = name;
  info.version = "1";
  return info;
}

bool same_targets(const std::string& a, const std::string& b, const std::string& a_name = "d",
                  const std::string& b_name = "d") {
  return same_platform(target::parse_target(a), device_called(a_name), target::parse_target(b),
                       device_called(b_name));
}

TEST(SamePlatform, IsRecognizedInEverySpelling) {
  EXPECT_TRUE(same_targets("cpu", "cpu"));
  EXPECT_TRUE(same_targets("cpu", "cpu:threads=2"));
  EXPECT_TRUE(same_targets("cpu", "cpu:libs=auto"));
  EXPECT_TRUE(same_targets("opencl", "opencl:device=0"));
  EXPECT_TRUE(same_targets("opencl:index=64", "opencl"));
  EXPECT_TRUE(same_targets("cpu", "cpu@unix:s"));
  // Other code, or another device.
  EXPECT_FALSE(same_targets("cpu", "opencl"));
  EXPECT_FALSE(same_targets("cpu", "cpu:libs=off"));
  EXPECT_FALSE(same_targets("cpu:arch=x86-64", "cpu:arch=aarch64"));
  EXPECT_FALSE(same_targets("opencl", "opencl:index=32"));
  EXPECT_FALSE(same_targets("opencl", "opencl:schedule=fallback"));
  EXPECT_FALSE(same_targets("opencl", "opencl", "a", "b"));
  EXPECT_FALSE(same_targets("opencl:device=0", "opencl:device=1"));
  EXPECT_FALSE(same_targets("cpu", "cpu@unix:s", "one", "another"));
}

// A text for an encoder is refused after the devices are known, so that nothing runs for long.
TEST(SamePlatform, MigrateAndLocalizeReportIt) {
  const std::string warning = "source and target are the same platform (cpu";
  auto said = [&](std::vector<std::string> args) {
    args.insert(args.end(), {"--text", "Emma was"});
    args.insert(args.begin() + 1, testing::kDemoModel);
    const testing::ProgramResult result = testing::run_program(args);
    EXPECT_EQ(result.exit_code, 2) << result.all();
    return result.err.find(warning) != std::string::npos;
  };
  EXPECT_TRUE(said({"migrate", "--from", "cpu", "--to", "cpu"}));
  EXPECT_TRUE(said({"migrate", "--from", "cpu", "--to", "cpu:threads=1", "--in-process"}));
  EXPECT_TRUE(said({"localize", "--from", "cpu", "--to", "cpu"}));
  EXPECT_TRUE(said({"localize", "--from", "cpu", "--to", "cpu", "--bisect", "passes"}));
  EXPECT_FALSE(said({"migrate", "--from", "cpu", "--to", "cpu:libs=off"}));
  EXPECT_FALSE(said({"migrate", "--from", "cpu", "--to", "null"}));
  EXPECT_FALSE(
      said({"migrate", "--from", "cpu", "--to", "cpu", "--inject-fault", "matmul:off-by-one"}));
  EXPECT_FALSE(
      said({"localize", "--from", "cpu", "--to", "cpu", "--inject-fault", "matmul:off-by-one"}));
}

}  // namespace
}  // namespace tapml::app
