// Seconds on a clock that never goes back.
#pragma once

#include <chrono>

namespace tapml {

// Since some moment before the program began: differences count.
inline double seconds_now() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace tapml
