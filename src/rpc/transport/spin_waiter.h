// Waits for what comes soon without sleeping.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/host/pause.h"
#include "base/host/thread_pool.h"
#include "runtime/session.h"

namespace tapml::rpc {

// A sleeping thread wakes late, above all on a virtual machine, whose processor must be scheduled
// first. Recent waits decide whether spinning pays: while some of them are long, other work may
// need the processor. For one thread at a time.
class SpinWaiter {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether spinning pays for a wait that begins `now`, and there is time for it.
  bool pays(Clock::time_point now, const runtime::Deadline& deadline) noexcept {
    if (alone() || (deadline && *deadline - now < kLongest)) return false;
    // Tries once in a while anyway: a wait that is short when awake may be long asleep.
    if (long_ > 0 && ++skipped_ < kMostSkipped) return false;
    skipped_ = 0;
    return true;
  }
  // Calls `look` repeatedly for a moment; returns whether it returned true.
  template <class Look>
  bool keep(Clock::time_point now, Look&& look) noexcept {
    const auto end = now + kLongest;
    do {
      for (int i = 0; i < kPauses; ++i) pause_briefly();
      if (look()) return true;
    } while (Clock::now() < end);
    return false;
  }
  // Records how long a wait took, awake or asleep; almost no time means that there was no wait.
  // Parts of a message may follow each other closely, so one long wait counts more than several
  // short ones.
  void waited(Clock::duration time) noexcept {
    if (time < kNone) return;
    long_ = time < kShort ? std::max(long_ - 1, 0) : std::min(long_ + kWeight, kMostSkipped);
  }

 private:
  // kLongest exceeds the time to wake the other side: once both are awake, they stay awake.
  static constexpr std::chrono::microseconds kLongest{300}, kShort{100}, kNone{3};
  static constexpr int kPauses = 8, kMostSkipped = 64, kWeight = 16;

  // The other side needs a core to run on meanwhile.
  static bool alone() noexcept {
    static const bool alone = ThreadPool::available_cores() == 1;
    return alone;
  }

  int long_ = 0;     // above 0: a wait that begins now is likely to be long
  int skipped_ = 0;  // waits since the last spin
};

}  // namespace tapml::rpc
