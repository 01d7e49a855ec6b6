#include "base/log.h"

#include <gtest/gtest.h>

#include <vector>

namespace tapml {
namespace {

TEST(LogTest, OnlyMessagesFromTheLowestLevelOnReachTheSink) {
  log_warning("nobody hears this");

  std::vector<std::string> lines;
  const auto keep = [&lines](LogLevel level, std::string_view message) {
    lines.push_back(std::string(log_level_name(level)) + ": " + std::string(message));
  };
  set_log_sink(keep);
  log_info("no");
  log_warning("yes");
  set_log_sink(keep, LogLevel::kInfo);
  log_info("yes");
  log_warning("also");
  set_log_sink(nullptr);
  log_warning("no");
  EXPECT_EQ(lines, (std::vector<std::string>{"warning: yes", "info: yes", "warning: also"}));
}

}  // namespace
}  // namespace tapml
