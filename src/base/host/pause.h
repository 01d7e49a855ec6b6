// Waiting awake.
#pragma once

namespace tapml {

// Some tens of nanoseconds, in which the core's other thread may have it.
inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tapml
