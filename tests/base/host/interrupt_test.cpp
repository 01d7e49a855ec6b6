#include "base/host/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tapml {
namespace {

TEST(InterruptTest, FirstSignalSetsTheFlag) {
  install_interrupt_handler();
  EXPECT_FALSE(interrupted());
  EXPECT_TRUE(check_interrupted());
  std::raise(SIGINT);
  EXPECT_TRUE(interrupted());
  Status status = check_interrupted();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(status.error().fault, PlatformFault::kCancelled);
  clear_interrupt();
  EXPECT_FALSE(interrupted());
  install_interrupt_handler();
}

TEST(InterruptDeathTest, SecondSignalKills) {
  EXPECT_EXIT(
      {
        install_interrupt_handler();
        std::raise(SIGINT);
        std::raise(SIGINT);
        std::exit(0);
      },
      ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace tapml
