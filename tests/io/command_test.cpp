#include "io/host/command.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(Command, GivesOutputAndExitCode) {
  auto result =
      run_command({"sh", "-c", "echo out; echo err >&2; cat; exit 3"}, std::chrono::seconds(60));
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->output, "out\nerr\n");
  result = run_command({"sh", "-c", "kill -9 $$"}, std::chrono::seconds(60));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 128 + 9);
}

TEST(Command, IsKilledAfterItsTimeLimit) {
  auto result = run_command({"sleep", "600"}, std::chrono::milliseconds(100));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kTimeout);
  int asked = 0;
  result = run_command({"sleep", "600"}, std::chrono::hours(1), [&] { return ++asked > 1; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kCancelled);
}

TEST(Command, AnUnknownProgramIsAbsent) {
  auto result = run_command({"no-such-program-of-tapml"}, std::chrono::seconds(1));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().fault, PlatformFault::kAbsent);
  EXPECT_NE(result.error().message.find("no-such-program"), std::string::npos);
}

}  // namespace
}  // namespace tapml
