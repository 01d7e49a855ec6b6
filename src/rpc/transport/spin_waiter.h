// Waiting awake for what comes soon.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/host/pause.h"
#include "base/host/thread_pool.h"
#include "runtime/session.h"

namespace tapml::rpc {

// A thread that sleeps is woken late, above all on a virtual machine, whose processor has to come
// back first. Whether it is worth it to stay awake, the last waits tell: while some of them are
// long, whoever computes meanwhile may want the processor. For one thread at a time.
class SpinWaiter {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether a wait that begins `now` is worth it, and there is as much time.
  bool pays(Clock::time_point now, const runtime::Deadline& deadline) noexcept {
    if (alone() || (deadline && *deadline - now < kLongest)) return false;
    // Once in a while all the same: what is short when awake may be long asleep.
    if (long_ > 0 && ++skipped_ < kMostSkipped) return false;
    skipped_ = 0;
    return true;
  }
  // Looks again and again for a moment; whether `look` returned true.
  template <class Look>
  bool keep(Clock::time_point now, Look&& look) noexcept {
    const auto end = now + kLongest;
    do {
      for (int i = 0; i < kPauses; ++i) pause_briefly();
      if (look()) return true;
    } while (Clock::now() < end);
    return false;
  }
  // How long a wait took, awake or asleep; it was none where what was waited for was there. Parts
  // of a message may come right behind each other, so that one long wait says more than a few short
  // ones.
  void waited(Clock::duration time) noexcept {
    if (time < kNone) return;
    long_ = time < kShort ? std::max(long_ - 1, 0) : std::min(long_ + kWeight, kMostSkipped);
  }

 private:
  // Longer than it takes to wake the other side: once both are awake, they stay so.
  static constexpr std::chrono::microseconds kLongest{300}, kShort{100}, kNone{3};
  static constexpr int kPauses = 8, kMostSkipped = 64, kWeight = 16;

  // The other side has to run somewhere meanwhile.
  static bool alone() noexcept {
    static const bool alone = ThreadPool::available_cores() == 1;
    return alone;
  }

  int long_ = 0;     // above 0: a wait that begins now is likely to be long
  int skipped_ = 0;  // waits since one that was
};

}  // namespace tapml::rpc
