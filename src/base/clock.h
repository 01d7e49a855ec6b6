// Seconds on a monotonic clock.
#pragma once

#include <chrono>

namespace tapml {

// Seconds since an unspecified moment before the program began; only differences are meaningful.
inline double seconds_now() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tapml
