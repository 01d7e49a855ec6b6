// A fast 64-bit checksum of bytes in files: XXH64 with seed 0. It finds accidental damage;
// detecting deliberate changes takes SHA-256 (base/hash.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tapml {

// Changing any single byte changes the checksum. The result is the same on every platform.
uint64_t checksum64(std::span<const std::byte> bytes);

// The same of bytes that come in pieces.
class Checksum64 {
 public:
  Checksum64();
  void add(std::span<const std::byte> bytes);
  // Of all bytes so far.
  uint64_t value() const;

 private:
  static constexpr size_t kStripe = 32;
  void add_stripes(const std::byte* at, size_t count);

  std::array<uint64_t, 4> lanes_;
  std::array<std::byte, kStripe> rest_;  // the last bytes, which do not fill a stripe
  size_t rest_bytes_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tapml
