// The inner loop of SHA-256; uses the processor's SHA instructions if it has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tapml {

using Sha256State = std::array<uint32_t, 8>;

// Updates `state` with `count` blocks of 64 bytes.
void sha256_blocks(Sha256State& state, const uint8_t* blocks, size_t count);

// The implementations, for tests: plain C++ and x86-64 instructions. The second returns false and
// leaves `state` unchanged on a processor without them.
void sha256_blocks_portable(Sha256State& state, const uint8_t* blocks, size_t count);
bool sha256_blocks_native(Sha256State& state, const uint8_t* blocks, size_t count);

}  // namespace tapml
