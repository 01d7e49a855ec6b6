#include "rpc/transport/process_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <new>
#include <vector>

#include "support/sanitized.h"

namespace tapml::rpc {
namespace {

// Whether `holds` is true in a separate process with its own limits.
bool holds_in_child(const std::function<bool()>& holds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(holds() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ProcessLimits, DataIsLimitedAndSharedMemoryIsNot) {
  if (testing::kSanitized) GTEST_SKIP() << "memory cannot be limited under a sanitizer";
  constexpr int64_t kMost = int64_t{512} << 20;
  EXPECT_TRUE(holds_in_child([] {
    if (limit_process_memory(kMost) != kMost) return false;
    if (::operator new(size_t{1} << 30, std::nothrow) != nullptr) return false;
    const int64_t before = process_data_bytes();
    std::vector<char> some(size_t{64} << 20);
    const int64_t grown = process_data_bytes() - before;
    return before > 0 && grown >= (64 << 20) && grown < (80 << 20);
  }));
  // Memory that the process already has is not taken away.
  EXPECT_TRUE(holds_in_child([] {
    std::vector<char> some(size_t{64} << 20);
    return limit_process_memory(1 << 20) == 0 && std::vector<char>(1 << 20).size() == 1 << 20;
  }));
}

TEST(ProcessLimits, WithoutALimitItIsTheSystemsMemory) {
  if (testing::kSanitized) GTEST_SKIP() << "memory cannot be limited under a sanitizer";
  EXPECT_GT(machine_memory(), int64_t{64} << 20);
  EXPECT_TRUE(holds_in_child([] { return limit_process_memory(0) == machine_memory(); }));
}

int oom_score() {
  int score = -1;
  std::ifstream("/proc/self/oom_score_adj") >> score;
  return score;
}

TEST(ProcessLimits, TheSystemKillsForkedProcessesFirst) {
  const int own = oom_score();
  const EndedFirst first;
  first.begin();
  EXPECT_TRUE(holds_in_child([] { return oom_score() == 500; }));
  first.end();
  EXPECT_EQ(oom_score(), own);
  EXPECT_TRUE(holds_in_child([own] { return oom_score() == own; }));
}

TEST(ProcessLimits, ProcessorTimeCountsFromEachRequest) {
  EXPECT_TRUE(holds_in_child([] {
    ProcessorTime time(std::chrono::seconds(10));
    time.begin();
    rlimit limit = {};
    if (::getrlimit(RLIMIT_CPU, &limit) != 0) return false;
    const rlim_t first = limit.rlim_cur;
    const auto cores = static_cast<rlim_t>(::sysconf(_SC_NPROCESSORS_ONLN));
    // 60 s of slack, and 20 s for each core that it may use.
    return first >= 80 && first <= 60 + 20 * cores + 5;
  }));
}

}  // namespace
}  // namespace tapml::rpc
