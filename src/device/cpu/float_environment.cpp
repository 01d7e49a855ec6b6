#include "device/cpu/float_environment.h"

#include <cstdio>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace tapml::device {

namespace {

void add(std::string& text, const std::string& more) { text += (text.empty() ? "" : ", ") + more; }

#if defined(__x86_64__)

constexpr uint32_t kFlags = 0x3f;  // the exception flags of MXCSR
constexpr uint64_t kDenormalsAreZero = 1 << 6, kMasks = 0x3f << 7, kFlushToZero = 1 << 15;
constexpr const char* kRounding[] = {"to nearest", "down", "up", "towards zero"};

void describe(const FloatEnvironment& before, const FloatEnvironment& after, std::string& text) {
  const uint64_t changed = before.control ^ after.control;
  const uint64_t rounding = after.control >> 13 & 3;
  if ((before.control >> 13 & 3) != rounding)
    add(text, std::string("rounds ") + kRounding[rounding]);
  if (changed & kFlushToZero) {
    add(text, after.control & kFlushToZero ? "flushes subnormal results to zero"
                                           : "no longer flushes subnormal results to zero");
  }
  if (changed & kDenormalsAreZero) {
    add(text, after.control & kDenormalsAreZero ? "reads subnormal operands as zero"
                                                : "no longer reads subnormal operands as zero");
  }
  if (changed & kMasks) add(text, "other exceptions trap");
  if (before.x87 != after.x87) {
    char words[80];
    std::snprintf(words, sizeof words, "the x87 control word is 0x%03llx instead of 0x%03llx",
                  static_cast<unsigned long long>(after.x87),
                  static_cast<unsigned long long>(before.x87));
    add(text, words);
  }
}

#elif defined(__aarch64__)

constexpr uint64_t kFlushHalf = 1 << 19, kFlushToZero = 1 << 24, kDefaultNaN = 1 << 25;
constexpr uint64_t kTraps = 0x9f << 8;
constexpr const char* kRounding[] = {"to nearest", "up", "down", "towards zero"};

void describe(const FloatEnvironment& before, const FloatEnvironment& after, std::string& text) {
  const uint64_t changed = before.control ^ after.control;
  const uint64_t rounding = after.control >> 22 & 3;
  if ((before.control >> 22 & 3) != rounding)
    add(text, std::string("rounds ") + kRounding[rounding]);
  if (changed & (kFlushToZero | kFlushHalf)) {
    add(text, after.control & (kFlushToZero | kFlushHalf)
                  ? "flushes subnormal numbers to zero"
                  : "no longer flushes subnormal numbers to zero");
  }
  if (changed & kDefaultNaN) add(text, "propagates NaN differently");
  if (changed & kTraps) add(text, "other exceptions trap");
}

#else
void describe(const FloatEnvironment&, const FloatEnvironment&, std::string&) {}
#endif

}  // namespace

FloatEnvironment FloatEnvironment::of_thread() noexcept {
  FloatEnvironment now;
#if defined(__x86_64__)
  now.control = _mm_getcsr() & ~kFlags;
  uint16_t word = 0;
  __asm__ __volatile__("fnstcw %0" : "=m"(word));
  now.x87 = word;
#elif defined(__aarch64__)
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(now.control));
#endif
  return now;
}

void FloatEnvironment::restore() const noexcept {
#if defined(__x86_64__)
  // Resets the flags too: without the trap, flags of an exception are meaningless.
  _mm_setcsr(static_cast<uint32_t>(control));
  const auto word = static_cast<uint16_t>(x87);
  __asm__ __volatile__("fnclex\n\tfldcw %0" : : "m"(word));
#elif defined(__aarch64__)
  __asm__ __volatile__("msr fpcr, %0" : : "r"(control));
#endif
}

std::string difference_text(const FloatEnvironment& before, const FloatEnvironment& after) {
  std::string text;
  describe(before, after, text);
  return text.empty() ? "other control bits are set" : text;
}

void FloatWatch::note(const FloatEnvironment& before, const FloatEnvironment& after) noexcept {
  before.restore();
  if (changed_.exchange(true)) return;
  before_ = before;
  after_ = after;
}

bool FloatWatch::take(std::string& text) {
  if (!changed_.load()) return false;
  text = difference_text(before_, after_);
  changed_.store(false);
  return true;
}

}  // namespace tapml::device
