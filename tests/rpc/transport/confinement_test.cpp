#include "rpc/transport/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>

#include "confined.h"

namespace tapml::rpc {
namespace {

using testing::holds_when_confined;

volatile sig_atomic_t g_heard = 0;

TEST(Confinement, AProcessSignalsOnlyItself) {
  const pid_t parent = ::getpid();
  EXPECT_TRUE(holds_when_confined([parent] {
    for (const pid_t other : {parent, pid_t{-1}, -parent, pid_t{1}}) {
      if (::kill(other, 0) == 0 || errno != EPERM) return false;
    }
    if (::syscall(SYS_tgkill, parent, parent, 0) == 0 || errno != EPERM) return false;
    if (::syscall(SYS_tkill, parent, 0) == 0 || errno != EPERM) return false;
    siginfo_t info = {};
    info.si_code = SI_QUEUE;
    return ::syscall(SYS_rt_sigqueueinfo, parent, SIGURG, &info) != 0 && errno == EPERM;
  }));
  EXPECT_TRUE(holds_when_confined([] {
    ::signal(SIGUSR1, [](int) { g_heard = g_heard + 1; });
    return ::kill(::getpid(), SIGUSR1) == 0 && ::raise(SIGUSR1) == 0 && g_heard == 2;
  }));
}

TEST(Confinement, ChildProcessesAreConfinedToo) {
  const std::string command = "kill -0 " + std::to_string(::getpid()) + " 2>/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_TRUE(holds_when_confined(
      [&] { return std::system("exit 0") == 0 && std::system(command.c_str()) != 0; }));
}

TEST(Confinement, OtherProcessesAreNeitherReadNorChanged) {
  const pid_t parent = ::getpid();
  static int value = 7;
  EXPECT_TRUE(holds_when_confined([parent] {
    int copy = 1;
    const iovec local = {&copy, sizeof copy}, remote = {&value, sizeof value};
    if (::process_vm_readv(parent, &local, 1, &remote, 1, 0) != -1 || errno != EPERM) return false;
    if (::process_vm_writev(parent, &local, 1, &remote, 1, 0) != -1 || errno != EPERM) return false;
    if (::ptrace(PTRACE_ATTACH, parent, nullptr, nullptr) != -1 || errno != EPERM) return false;
    rlimit limit = {};
    if (::prlimit(parent, RLIMIT_NOFILE, nullptr, &limit) == 0 || errno != EPERM) return false;
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  }));
  EXPECT_EQ(value, 7);
}

// Access through files, which a system call filter does not see.
TEST(Confinement, ClosedMemoryIsClosedToTheSameUser) {
  const pid_t closed = ::fork();
  if (closed == 0) {
    close_memory();
    for (;;) ::pause();
  }
  const std::string path = "/proc/" + std::to_string(closed) + "/mem";
  // Until the memory is closed: the first attempt may come too early.
  bool refused = false;
  for (int i = 0; i < 200 && !refused; ++i) {
    refused = holds_when_confined([&] { return ::open(path.c_str(), O_RDWR) < 0; });
    if (!refused) ::usleep(5'000);
  }
  EXPECT_TRUE(refused);
  ::kill(closed, SIGKILL);
  ::waitpid(closed, nullptr, 0);
}

TEST(Confinement, TheSuperuserKeepsFewCapabilities) {
  EXPECT_TRUE(holds_when_confined([] {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("CapEff:")) continue;
      constexpr uint64_t kKill = 5, kSetUid = 7, kPtrace = 19, kAdmin = 21;
      const uint64_t all = std::stoull(line.substr(7), nullptr, 16);
      for (const uint64_t one : {kKill, kSetUid, kPtrace, kAdmin}) {
        if ((all >> one & 1) != 0) return false;
      }
      return true;
    }
    return false;
  }));
}

}  // namespace
}  // namespace tapml::rpc
