// Counter-based random numbers (Philox4x32-10, Salmon et al., SC 2011): element i of a named stream
// is a pure function of (seed, name, i), the same in C++ and in Python, whatever the thread count.
//
// The convention: key = the first 8 bytes of SHA-256("<seed>:<name>"), seed in decimal, read as two
// little-endian u32; the counter (i mod 2^32, i div 2^32, 0, 0) yields the elements 4i to 4i + 3.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace tapml {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds: four random words for one counter.
PhiloxCounter philox_block(PhiloxCounter counter, PhiloxKey key);

// Key of the stream `name` under `seed`.
PhiloxKey philox_key(uint64_t seed, std::string_view name);

// Uniform in [-1, 1) in steps of 2^-23, exact in f32.
inline float unit_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-23f - 1.0f; }

// unit_float of the elements first, first + 1, ... of the stream.
void fill_uniform(std::span<float> values, PhiloxKey key, uint64_t first = 0);

// The same stream, drawn one element at a time; `position` is the next element's index.
class RandomStream {
 public:
  explicit RandomStream(PhiloxKey key, uint64_t position = 0) : key_(key), position_(position) {}
  RandomStream(uint64_t seed, std::string_view name) : RandomStream(philox_key(seed, name)) {}

  uint32_t next();
  // Uniform in [0, bound), without bias; bound must be positive. May draw more than one element.
  uint32_t below(uint32_t bound);
  // Uniform in [low, high], both inclusive.
  int64_t between(int64_t low, int64_t high);
  // Uniform in [0, 1) with 53 bits.
  double unit();
  bool chance(double probability) { return unit() < probability; }

  PhiloxKey key() const { return key_; }
  uint64_t position() const { return position_; }

 private:
  PhiloxKey key_;
  uint64_t position_;
  PhiloxCounter block_{};
  uint64_t block_index_ = ~uint64_t{0};
};

}  // namespace tapml
