// Hashes: SHA-256 for contents that leave the process, and a fast 64-bit mix for structures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tapml {

using Sha256Digest = std::array<uint8_t, 32>;

// Streaming SHA-256 (FIPS 180-4).
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // Ends the message; the object is then ready for the next one.
  Sha256Digest digest();

 private:
  void compress(const uint8_t* block);

  static constexpr std::array<uint32_t, 8> kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                                       0xa54ff53a, 0x510e527f, 0x9b05688c,
                                                       0x1f83d9ab, 0x5be0cd19};
  std::array<uint32_t, 8> state_ = kInitial;
  std::array<uint8_t, 64> pending_{};
  size_t pending_size_ = 0;
  uint64_t total_bytes_ = 0;
};

Sha256Digest sha256(std::span<const std::byte> bytes);
Sha256Digest sha256(std::string_view text);

// Lower-case hexadecimal digits.
std::string to_hex(std::span<const uint8_t> bytes);
std::string hash_hex(uint64_t hash);  // 16 digits

// 64-bit hashes that are the same on every platform and in every run.
uint64_t hash_bytes(std::span<const std::byte> bytes);
uint64_t hash_string(std::string_view text);
// Order matters: combine(combine(s, a), b) differs from combine(combine(s, b), a).
uint64_t hash_combine(uint64_t seed, uint64_t value);

}  // namespace tapml
