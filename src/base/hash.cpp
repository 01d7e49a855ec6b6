#include "base/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/sha256_blocks.h"

namespace tapml {

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

void store_big_endian(uint8_t* bytes, uint32_t word) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(word >> (24 - 8 * i));
}

// A bijection that spreads every input bit over the whole word.
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93u;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93u;
  return value ^ (value >> 32);
}

}  // namespace

void Sha256::compress(const uint8_t* block) { sha256_blocks(state_, block, 1); }

void Sha256::update(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  total_bytes_ += left;
  if (pending_size_ > 0) {
    size_t take = std::min(left, pending_.size() - pending_size_);
    std::memcpy(pending_.data() + pending_size_, data, take);
    pending_size_ += take;
    data += take;
    left -= take;
    if (pending_size_ < pending_.size()) return;
    compress(pending_.data());
    pending_size_ = 0;
  }
  sha256_blocks(state_, data, left / pending_.size());
  data += left / pending_.size() * pending_.size();
  left %= pending_.size();
  if (left > 0) std::memcpy(pending_.data(), data, left);
  pending_size_ = left;
}

void Sha256::update(std::string_view text) { update(std::as_bytes(std::span(text))); }

Sha256Digest Sha256::digest() {
  uint64_t bits = total_bytes_ * 8;
  pending_[pending_size_++] = 0x80;
  if (pending_size_ > 56) {
    std::fill(pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_), pending_.end(), 0);
    compress(pending_.data());
    pending_size_ = 0;
  }
  std::fill(pending_.begin() + static_cast<std::ptrdiff_t>(pending_size_), pending_.end(), 0);
  store_big_endian(pending_.data() + 56, static_cast<uint32_t>(bits >> 32));
  store_big_endian(pending_.data() + 60, static_cast<uint32_t>(bits));
  compress(pending_.data());
  Sha256Digest result;
  for (size_t i = 0; i < 8; ++i) store_big_endian(result.data() + 4 * i, state_[i]);
  *this = Sha256();
  return result;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.digest();
}

Sha256Digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

std::string to_hex(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

std::string hash_hex(uint64_t hash) {
  std::string text;
  for (int i = 0; i < 16; ++i) text += kHexDigits[(hash >> (60 - 4 * i)) & 15];
  return text;
}

uint64_t hash_bytes(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a; the final mix compensates for its weak upper bits
  for (std::byte byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return mix(hash ^ bytes.size());
}

uint64_t hash_string(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return mix(mix(seed + 0x9e3779b97f4a7c15u) ^ std::rotl(value * 0xff51afd7ed558ccdu, 31));
}

}  // namespace tapml
