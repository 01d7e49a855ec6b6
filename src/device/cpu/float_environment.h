// The floating-point environment of a thread, which a kernel must leave unchanged.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tapml::device {

// Rounding, flushing of subnormals, exception traps. Excludes the flags, which every operation may
// set.
struct FloatEnvironment {
  uint64_t control = 0;  // x86-64: MXCSR; aarch64: FPCR
  uint64_t x87 = 0;      // x86-64: control word of the x87

  static FloatEnvironment of_thread() noexcept;
  void restore() const noexcept;
  bool operator==(const FloatEnvironment&) const = default;
};

// Describes how `after` differs from `before`: "rounds towards zero, flushes subnormal results to
// zero".
std::string difference_text(const FloatEnvironment& before, const FloatEnvironment& after);

// Compares the environment around calls, on any thread, and restores it.
class FloatWatch {
 public:
  void after_call(const FloatEnvironment& before) noexcept {
    const FloatEnvironment after = FloatEnvironment::of_thread();
    if (after != before) note(before, after);
  }
  // Whether a call has changed it since the last take(); no call may be in progress. `text`: a
  // description of the change.
  bool take(std::string& text);

 private:
  void note(const FloatEnvironment& before, const FloatEnvironment& after) noexcept;

  std::atomic<bool> changed_ = false;
  FloatEnvironment before_, after_;  // of the first call that changed it
};

}  // namespace tapml::device
