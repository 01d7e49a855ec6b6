#include "base/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tapml {

namespace {

constexpr uint64_t kPrime1 = 0x9e3779b185ebca87u;
constexpr uint64_t kPrime2 = 0xc2b2ae3d27d4eb4fu;
constexpr uint64_t kPrime3 = 0x165667b19e3779f9u;
constexpr uint64_t kPrime4 = 0x85ebca77c2b2ae63u;
constexpr uint64_t kPrime5 = 0x27d4eb2f165667c5u;

template <class T>
uint64_t load(const std::byte* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::endian::native == std::endian::big) {
    return sizeof(T) == 8 ? __builtin_bswap64(value) : __builtin_bswap32(value);
  }
  return value;
}

uint64_t round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

}  // namespace

Checksum64::Checksum64() : lanes_{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1} {}

void Checksum64::add_stripes(const std::byte* at, size_t count) {
  std::array<uint64_t, 4> lanes = lanes_;
  for (; count > 0; --count) {
    for (uint64_t& lane : lanes) {
      lane = round(lane, load<uint64_t>(at));
      at += 8;
    }
  }
  lanes_ = lanes;
}

void Checksum64::add(std::span<const std::byte> bytes) {
  bytes_ += bytes.size();
  if (rest_bytes_ > 0) {
    const size_t count = std::min(bytes.size(), kStripe - rest_bytes_);
    std::copy_n(bytes.begin(), count, rest_.begin() + static_cast<ptrdiff_t>(rest_bytes_));
    rest_bytes_ += count;
    bytes = bytes.subspan(count);
    if (rest_bytes_ < kStripe) return;
    add_stripes(rest_.data(), 1);
    rest_bytes_ = 0;
  }
  const size_t stripes = bytes.size() / kStripe;
  add_stripes(bytes.data(), stripes);
  bytes = bytes.subspan(stripes * kStripe);
  std::ranges::copy(bytes, rest_.begin());
  rest_bytes_ = bytes.size();
}

uint64_t Checksum64::value() const {
  uint64_t hash = kPrime5;
  if (bytes_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += bytes_;
  const std::byte* at = rest_.data();
  size_t left = rest_bytes_;
  for (; left >= 8; left -= 8, at += 8) {
    hash = std::rotl(hash ^ round(0, load<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (left >= 4) {
    hash = std::rotl(hash ^ (load<uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
    left -= 4;
    at += 4;
  }
  for (; left > 0; --left, ++at) {
    hash = std::rotl(hash ^ (static_cast<uint64_t>(*at) * kPrime5), 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

uint64_t checksum64(std::span<const std::byte> bytes) {
  Checksum64 sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace tapml
