#include "base/hmac.h"

namespace tapml {

namespace {

constexpr size_t kBlockBytes = 64;  // the block size of SHA-256

std::array<std::byte, kBlockBytes> padded_key(const HmacKey& key, uint8_t with) {
  std::array<std::byte, kBlockBytes> block = {};
  for (size_t i = 0; i < key.size(); ++i) block[i] = key[i];
  for (std::byte& byte : block) byte ^= std::byte{with};
  return block;
}

}  // namespace

Sha256Digest hmac_sha256(const HmacKey& key,
                         std::initializer_list<std::span<const std::byte>> parts) {
  Sha256 hash;
  hash.update(padded_key(key, 0x36));
  for (const std::span<const std::byte> part : parts) hash.update(part);
  const Sha256Digest inner = hash.digest();
  hash.update(padded_key(key, 0x5c));
  hash.update(std::as_bytes(std::span(inner)));
  return hash.digest();
}

bool same_digest(const Sha256Digest& a, const Sha256Digest& b) {
  uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

}  // namespace tapml
