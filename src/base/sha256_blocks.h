// The inner loop of SHA-256, by the processor's own instructions where it has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tapml {

using Sha256State = std::array<uint32_t, 8>;

// Takes `count` blocks of 64 bytes into `state`.
void sha256_blocks(Sha256State& state, const uint8_t* blocks, size_t count);

// The ways to do that, for tests: plain C++, and instructions of x86-64. The second returns false,
// with `state` as it was, on a processor without them.
void sha256_blocks_portable(Sha256State& state, const uint8_t* blocks, size_t count);
bool sha256_blocks_native(Sha256State& state, const uint8_t* blocks, size_t count);

}  // namespace tapml
