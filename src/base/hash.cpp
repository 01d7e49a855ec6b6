#include "base/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tapml {

namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr char kHexDigits[] = "0123456789abcdef";

uint32_t load_big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

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

void Sha256::compress(const uint8_t* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = load_big_endian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    uint32_t choose = (e & f) ^ (~e & g);
    uint32_t t1 = h + s1 + choose + kRound[i] + w[i];
    uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + s0 + majority;
  }
  const std::array<uint32_t, 8> add = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += add[i];
}

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
  for (; left >= pending_.size(); left -= pending_.size(), data += pending_.size()) compress(data);
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

std::string hash_hex(uint64_t hash, int digits) {
  std::string text;
  for (int i = 0; i < digits; ++i) text += kHexDigits[(hash >> (60 - 4 * i)) & 15];
  return text;
}

uint64_t hash_bytes(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a; the final mix makes up for its weak upper bits
  for (std::byte byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
  return mix(hash ^ bytes.size());
}

uint64_t hash_string(std::string_view text) { return hash_bytes(std::as_bytes(std::span(text))); }

uint64_t hash_combine(uint64_t seed, uint64_t value) {
  return mix(mix(seed + 0x9e3779b97f4a7c15u) ^ std::rotl(value * 0xff51afd7ed558ccdu, 31));
}

}  // namespace tapml
