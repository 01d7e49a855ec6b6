#include "rpc/transport/session_places.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace tapml::rpc {
namespace {

TEST(SessionPlaces, AreTakenAndLeft) {
  auto places = SessionPlaces::create(2);
  ASSERT_TRUE(places);
  EXPECT_EQ((*places)->most(), 2);
  EXPECT_TRUE((*places)->take(7));
  EXPECT_TRUE((*places)->take(8));
  EXPECT_FALSE((*places)->take(9));
  EXPECT_TRUE((*places)->has(7));
  EXPECT_FALSE((*places)->has(9));
  EXPECT_EQ((*places)->taken(), 2);
  (*places)->leave(9);  // has none
  EXPECT_EQ((*places)->taken(), 2);
  (*places)->leave(7);
  EXPECT_TRUE((*places)->take(9));
  EXPECT_FALSE((*places)->has(7));
}

// Whatever becomes of the process that took it: a place is found by its session.
TEST(SessionPlaces, OfProcessesThatAskAtOnceEachHasItsOwn) {
  constexpr int kMost = 5, kProcesses = 16;
  auto places = SessionPlaces::create(kMost);
  ASSERT_TRUE(places);
  std::vector<pid_t> processes;
  for (int64_t number = 1; number <= kProcesses; ++number) {
    const pid_t process = ::fork();
    ASSERT_GE(process, 0);
    if (process == 0) ::_exit((*places)->take(number) ? 0 : 1);
    processes.push_back(process);
  }
  int got = 0;
  for (int64_t number = 1; number <= kProcesses; ++number) {
    int status = 0;
    ASSERT_EQ(::waitpid(processes[static_cast<size_t>(number - 1)], &status, 0),
              processes[static_cast<size_t>(number - 1)]);
    ASSERT_TRUE(WIFEXITED(status));
    const bool took = WEXITSTATUS(status) == 0;
    got += took ? 1 : 0;
    EXPECT_EQ((*places)->has(number), took);
  }
  EXPECT_EQ(got, kMost);
  EXPECT_EQ((*places)->taken(), kMost);
  for (int64_t number = 1; number <= kProcesses; ++number) (*places)->leave(number);
  EXPECT_EQ((*places)->taken(), 0);
}

}  // namespace
}  // namespace tapml::rpc
