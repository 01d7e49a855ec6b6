// A pause for spin loops.
#pragma once

namespace tapml {

// Takes some tens of nanoseconds, which the core's other hardware thread can use.
inline void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tapml
