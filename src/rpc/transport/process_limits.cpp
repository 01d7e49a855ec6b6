#include "rpc/transport/process_limits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <thread>
#include <tuple>

#include "base/physical_memory.h"

namespace tapml::rpc {

namespace {

constexpr int64_t kSpareSeconds = 60;

// The memory limit of this process's control group, of either version; 0: no limit.
int64_t group_memory() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t bytes = 0;
    if (std::ifstream(path) >> bytes && bytes > 0) return bytes;  // "max" is no number
  }
  return 0;
}

}  // namespace

int64_t machine_memory() noexcept {
  const int64_t all = physical_memory(), group = group_memory();
  return all > 0 && group > 0 ? std::min(all, group) : std::max(all, group);
}

int64_t limit_process_memory(int64_t bytes) noexcept {
  const int64_t most = bytes > 0 ? bytes : machine_memory();
  rlimit limit = {};
  if (most <= 0 || process_data_bytes() >= most) return 0;
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return 0;
  limit.rlim_max = std::min(limit.rlim_max, static_cast<rlim_t>(most));
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(RLIMIT_DATA, &limit) != 0) return 0;
  return static_cast<int64_t>(limit.rlim_cur);
}

EndedFirst::EndedFirst() noexcept
    : descriptor_(::open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC)) {
  if (descriptor_ >= 0) std::ignore = ::pread(descriptor_, own_, sizeof own_ - 1, 0);
}

EndedFirst::~EndedFirst() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Raising the value, and restoring it, needs no privileges.
void EndedFirst::begin() const noexcept {
  if (descriptor_ >= 0) std::ignore = ::pwrite(descriptor_, "500", 3, 0);
}

void EndedFirst::end() const noexcept {
  if (descriptor_ >= 0) std::ignore = ::pwrite(descriptor_, own_, std::strlen(own_), 0);
}

int64_t process_data_bytes() noexcept {
  const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128];
  const ssize_t size = ::read(fd, text, sizeof text);
  ::close(fd);
  // In pages: size, resident, shared, text, library, data and stack.
  int64_t field = 0, pages = 0;
  for (ssize_t i = 0; i < size && field < 6; ++i) {
    if (text[i] == ' ') {
      ++field;
    } else if (field == 5) {
      pages = pages * 10 + (text[i] - '0');
    }
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

ProcessorTime::ProcessorTime(std::chrono::milliseconds request) noexcept {
  const int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  seconds_ =
      std::chrono::duration_cast<std::chrono::seconds>(request).count() * cores * 2 + kSpareSeconds;
}

void ProcessorTime::begin() noexcept {
  // Small requests come by the thousand: the limit is set at most once a second.
  const auto now = std::chrono::steady_clock::now();
  if (now - begun_ < std::chrono::seconds(1)) return;
  begun_ = now;
  rusage used = {};
  rlimit limit = {};
  if (::getrusage(RUSAGE_SELF, &used) != 0 || ::getrlimit(RLIMIT_CPU, &limit) != 0) return;
  const int64_t until = used.ru_utime.tv_sec + used.ru_stime.tv_sec + seconds_;
  limit.rlim_cur = std::min(limit.rlim_max, static_cast<rlim_t>(until));
  ::setrlimit(RLIMIT_CPU, &limit);
}

}  // namespace tapml::rpc
