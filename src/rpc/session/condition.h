// Waiting for another thread, where there are threads (runtime/lock.h).
#pragma once

#include <chrono>

#include "runtime/lock.h"

#if !defined(__wasm__)
#include <condition_variable>
#endif

namespace tapml::rpc {

using Clock = std::chrono::steady_clock;

// All waiters are woken at once; they look themselves whether it was for them.
class Condition {
 public:
#if defined(__wasm__)
  void notify() noexcept {}
  void wait_until(runtime::Lock&, Clock::time_point) noexcept {}
#else
  void notify() noexcept { changed_.notify_all(); }
  // The caller holds the lock; it is free while this waits.
  void wait_until(runtime::Lock& lock, Clock::time_point until) noexcept {
    std::unique_lock<std::mutex> held(lock, std::adopt_lock);
    changed_.wait_until(held, until);
    held.release();
  }

 private:
  std::condition_variable changed_;
#endif
};

}  // namespace tapml::rpc
