#include "base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapml {
namespace {

TEST(LogTest, OnlyMessagesFromTheLowestLevelOnReachTheSink) {
  EXPECT_FALSE(log_enabled(LogLevel::kError));
  log_warning("nobody hears this");

  std::vector<std::string> lines;
  set_log_sink(
      [&lines](LogLevel level, std::string_view message) {
        lines.push_back(std::string(log_level_name(level)) + ": " + std::string(message));
      },
      LogLevel::kInfo);
  log_debug("no");
  log_info("yes");
  log_warning("also");
  EXPECT_EQ(lines, (std::vector<std::string>{"info: yes", "warning: also"}));
  EXPECT_FALSE(log_enabled(LogLevel::kDebug));

  set_log_sink(nullptr);
  log_message(LogLevel::kError, "no");
  EXPECT_EQ(lines.size(), 2u);
}

}  // namespace
}  // namespace tapml
