// Traces sessions: kernels, copies and waits on one clock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/lock.h"

namespace tapml::runtime {

struct TraceEvent {
  enum class Kind : uint8_t { kKernel, kCopy, kWait };
  Kind kind = Kind::kKernel;
  bool remote = false;  // on the remote side of a channel
  std::string name;
  int64_t start = 0, duration = 0;  // nanoseconds of this process's steady clock
  int64_t bytes = 0;                // of a copy
};

// Nanoseconds of the steady clock.
inline int64_t trace_now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Events of one session. Thread-safe; costs one flag check while it is off.
class TraceLog {
 public:
  // Further events are counted but not kept.
  static constexpr size_t kMostEvents = size_t{1} << 20;

  bool on() const noexcept { return on_.load(std::memory_order_relaxed); }
  void start() noexcept { on_.store(true); }
  void add(TraceEvent::Kind kind, std::string_view name, int64_t start, int64_t bytes = 0) noexcept;
  // The events since the last take.
  std::vector<TraceEvent> take() noexcept;
  int64_t dropped() const noexcept { return dropped_.load(); }

 private:
  std::atomic<bool> on_{false};
  std::atomic<int64_t> dropped_{0};
  Lock lock_;
  std::vector<TraceEvent> events_;
};

// Adds an event that spans the object's lifetime, if the log is on.
class TraceScope {
 public:
  TraceScope(TraceLog& log, TraceEvent::Kind kind, std::string_view name,
             int64_t bytes = 0) noexcept
      : log_(log), kind_(kind), name_(name), bytes_(bytes), start_(log.on() ? trace_now() : 0) {}
  ~TraceScope() {
    if (start_ != 0) log_.add(kind_, name_, start_, bytes_);
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  TraceLog& log_;
  TraceEvent::Kind kind_;
  std::string_view name_;
  int64_t bytes_;
  int64_t start_;
};

}  // namespace tapml::runtime
