// The last lines of a log, in memory that may be shared with a process that outlives the writer.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/lock.h"

namespace tapml::rpc {

class RecentLines {
 public:
  // Safe on any thread of the writing process. Long lines are cut.
  void add(std::string_view line) noexcept {
    const runtime::LockGuard guard(lock_);
    const uint32_t count = count_.load();
    char* to = text_[count % kLines];
    const size_t size = std::min(line.size(), kLength - 1);
    std::memcpy(to, line.data(), size);
    to[size] = '\0';
    count_.store(count + 1);
  }
  // Oldest first, in printable characters. For the writing process.
  std::vector<std::string> lines() noexcept {
    const runtime::LockGuard guard(lock_);
    return last_lines();
  }
  // The same after the writer ended, perhaps inside add(): its data is not trusted.
  std::vector<std::string> last_lines() const noexcept {
    std::vector<std::string> lines;
    const uint32_t count = count_.load();
    for (uint32_t i = count - std::min<uint32_t>(count, kLines); i != count; ++i) {
      const char* from = text_[i % kLines];
      std::string line(from, strnlen(from, kLength));
      for (char& c : line) {
        if (c < ' ' || c > '~') c = '?';
      }
      lines.push_back(std::move(line));
    }
    return lines;
  }

 private:
  static constexpr uint32_t kLines = 16;
  static constexpr size_t kLength = 240;
  runtime::Lock lock_;
  std::atomic<uint32_t> count_{0};
  char text_[kLines][kLength] = {};
};
static_assert(std::atomic<uint32_t>::is_always_lock_free, "two processes share it");

}  // namespace tapml::rpc
