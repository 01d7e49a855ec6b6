#include "base/rng.h"

#include <string>

#include "base/hash.h"

namespace tapml {

namespace {

PhiloxCounter block_at(PhiloxKey key, uint64_t index) {
  return philox_block({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), 0, 0},
                      key);
}

}  // namespace

PhiloxCounter philox_block(PhiloxCounter c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

PhiloxKey philox_key(uint64_t seed, std::string_view name) {
  Sha256Digest d = sha256(std::to_string(seed) + ":" + std::string(name));
  auto word = [&d](size_t at) {
    return uint32_t{d[at]} | uint32_t{d[at + 1]} << 8 | uint32_t{d[at + 2]} << 16 |
           uint32_t{d[at + 3]} << 24;
  };
  return {word(0), word(4)};
}

void fill_uniform(std::span<float> values, PhiloxKey key, uint64_t first) {
  RandomStream stream(key, first);
  for (float& value : values) value = unit_float(stream.next());
}

uint32_t RandomStream::next() {
  uint64_t index = position_ / 4;
  if (index != block_index_) {
    block_ = block_at(key_, index);
    block_index_ = index;
  }
  return block_[position_++ % 4];
}

uint32_t RandomStream::below(uint32_t bound) {
  // Without rejecting words under 2^32 mod bound, small results would be more likely.
  uint32_t reject = (0u - bound) % bound;
  uint32_t word = next();
  while (word < reject) word = next();
  return word % bound;
}

int64_t RandomStream::between(int64_t low, int64_t high) {
  uint64_t bound = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  auto draw = [this] {
    uint64_t upper = next();
    return upper << 32 | next();
  };
  uint64_t value = draw();
  if (bound != 0) {  // 0: the whole 64-bit range
    uint64_t reject = (0 - bound) % bound;
    while (value < reject) value = draw();
    value %= bound;
  }
  return static_cast<int64_t>(static_cast<uint64_t>(low) + value);
}

double RandomStream::unit() {
  uint64_t upper = next();
  uint64_t bits = upper << 32 | next();
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace tapml
