// Waits for another thread, on platforms with threads (runtime/lock.h).
#pragma once

#include <chrono>

#include "runtime/lock.h"

#if !defined(__wasm__)
#include <condition_variable>
#endif

namespace tapml::rpc {

using Clock = std::chrono::steady_clock;

// Wakes all waiters at once; each checks whether it was meant.
class Condition {
 public:
#if defined(__wasm__)
  void notify() noexcept {}
  void wait_until(runtime::Lock&, Clock::time_point) noexcept {}
#else
  void notify() noexcept { changed_.notify_all(); }
  // The caller holds the lock, which is released during the wait.
  void wait_until(runtime::Lock& lock, Clock::time_point until) noexcept {
    std::unique_lock<std::mutex> held(lock, std::adopt_lock);
    changed_.wait_until(held, until);
    held.release();
  }

 private:
  std::condition_variable changed_;
#endif
};

// Acquires the lock; false if that is not possible before `until`.
#if defined(__wasm__)
inline bool lock_until(runtime::Lock& lock, Clock::time_point) noexcept {
  lock.lock();
  return true;
}
#else
inline bool lock_until(runtime::Lock& lock, Clock::time_point until) noexcept {
  // The lock is held while one message is written, or for longer if the other side does not read.
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (Clock::now() >= until) return false;
    if (tries < 100) {
      runtime::yield_thread();
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return true;
}
#endif

}  // namespace tapml::rpc
