// What a session's process may take of its machine.
#pragma once

#include <chrono>
#include <cstdint>

namespace tapml::rpc {

// The memory that the processes of this machine share: its own, or what its control group may have.
int64_t machine_memory() noexcept;

// Limits data and private mappings of this process (RLIMIT_DATA) to `bytes`; 0: machine_memory().
// What is mapped of files without writing to it, and shared memory, does not count: weights do not.
// Returns the limit; 0 where none was set, because the process has more already (a sanitizer's
// shadow).
int64_t limit_process_memory(int64_t bytes) noexcept;

// Where the system has no memory left and has to end a process, it ends first those that were
// forked while such an object lived, and not their parent. Made by the parent while it may still
// write what the system keeps of it (before close_memory(), confinement.h).
class EndedFirst {
 public:
  EndedFirst() noexcept;
  ~EndedFirst();
  EndedFirst(const EndedFirst&) = delete;
  // For one fork: begin() before it, end() after it in the parent.
  void begin() const noexcept;
  void end() const noexcept;

 private:
  int descriptor_ = -1;
  char own_[16] = {};  // the parent's own value, as text
};

// Data and private mappings now; 0: not known. Async-signal-safe.
int64_t process_data_bytes() noexcept;

// Processor time that a process may use for one request (RLIMIT_CPU, whose SIGXCPU ends it): where
// nobody watches the request's own limit any more, it ends all the same.
class ProcessorTime {
 public:
  // A request may take `request`: on every core, and twice that.
  explicit ProcessorTime(std::chrono::milliseconds request) noexcept;
  // A request begins: the limit counts from here.
  void begin() noexcept;

 private:
  int64_t seconds_ = 0;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace tapml::rpc
