// Waiting awake for what comes soon.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/host/pause.h"
#include "base/host/thread_pool.h"
#include "runtime/session.h"

namespace tapml::rpc {

// A thread that sleeps is woken late, above all on a virtual machine, whose processor has to come
// back first. Whether it is worth it to stay awake, the last times tell: each that was long makes
// more waits go without, since whoever computes meanwhile may want the processor. For one thread at
// a time.
class Vigil {
 public:
  // Looks again and again for a moment, where there is as much time; whether `look` returned true.
  template <class Look>
  bool keep(runtime::Deadline deadline, Look&& look) noexcept {
    const auto begin = std::chrono::steady_clock::now(), end = begin + kLongest;
    if (alone() || (deadline && *deadline < end) || ++left_out_ <= leave_out_) return false;
    left_out_ = 0;
    bool came = false;
    auto now = begin;
    while (!came && now < end) {
      for (int i = 0; i < kPauses; ++i) pause_briefly();
      came = look();
      now = std::chrono::steady_clock::now();
    }
    leave_out_ = came && now - begin < kShort ? 0 : std::min(2 * leave_out_ + 1, kMostLeftOut);
    return came;
  }

 private:
  // Longer than it takes to wake the other side: once both are awake, they stay so.
  static constexpr std::chrono::microseconds kLongest{300};
  // What an exchange takes once both are awake, and more.
  static constexpr std::chrono::microseconds kShort{50};
  static constexpr int kPauses = 8, kMostLeftOut = 63;

  // The other side has to run somewhere meanwhile.
  static bool alone() noexcept {
    static const bool alone = ThreadPool::available_cores() == 1;
    return alone;
  }

  int left_out_ = 0, leave_out_ = 0;  // waits since the last vigil; how many go without
};

}  // namespace tapml::rpc
