// Mutual exclusion, if there are threads. The WebAssembly part of the runtime has none, and its C++
// library has no <mutex>; only this file depends on that.
#pragma once

#include <algorithm>
#include <chrono>

#if !defined(__wasm__)
#include <mutex>
#include <thread>
#endif

namespace tapml::runtime {

#if defined(__wasm__)
class Lock {
 public:
  void lock() noexcept {}
  void unlock() noexcept {}
};
inline void yield_thread() noexcept {}
inline void rest_thread(std::chrono::steady_clock::duration) noexcept {}
#else
using Lock = std::mutex;
// Yields to another thread, in polling loops.
inline void yield_thread() noexcept { std::this_thread::yield(); }
// The same for loops that have already waited for this long: the added latency is at most a
// sixteenth of that, and half a millisecond.
inline void rest_thread(std::chrono::steady_clock::duration waited) noexcept {
  constexpr std::chrono::microseconds kAwake{100}, kLongest{500};
  if (waited < kAwake) return yield_thread();
  std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(waited / 16, kLongest));
}
#endif

// Holds a Lock for a scope.
class LockGuard {
 public:
  explicit LockGuard(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace tapml::runtime
