// Limits what a session's process may use of its machine.
#pragma once

#include <chrono>
#include <cstdint>

namespace tapml::rpc {

// The memory available to the processes of this machine: all of it, or its control group's limit.
int64_t machine_memory() noexcept;

// Limits data and private mappings of this process (RLIMIT_DATA) to `bytes`; 0: machine_memory().
// Read-only file mappings and shared memory do not count, so weights do not. Returns the limit; 0
// if none was set, because the process already exceeds it (a sanitizer's shadow).
int64_t limit_process_memory(int64_t bytes) noexcept;

// When the system runs out of memory and must end a process, it ends those forked between begin()
// and end() before their parent. The parent creates it while it may still write its own settings
// (before close_memory(), confinement.h).
class EndedFirst {
 public:
  EndedFirst() noexcept;
  ~EndedFirst();
  EndedFirst(const EndedFirst&) = delete;
  // For each fork: begin() before it, end() after it in the parent.
  void begin() const noexcept;
  void end() const noexcept;

 private:
  int descriptor_ = -1;
  char own_[16] = {};  // the parent's own value, as text
};

// Data and private mappings now; 0: unknown. Async-signal-safe.
int64_t process_data_bytes() noexcept;

// Limits the processor time of one request (RLIMIT_CPU, whose SIGXCPU ends the process), so that it
// ends even if no one checks the request's own limit any more.
class ProcessorTime {
 public:
  // A request may use twice the time `request` on every core.
  explicit ProcessorTime(std::chrono::milliseconds request) noexcept;
  // A request begins: the limit counts from now.
  void begin() noexcept;

 private:
  int64_t seconds_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace tapml::rpc
