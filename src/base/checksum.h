// A fast 64-bit checksum of bytes that lie in files: XXH64 with seed 0. It finds accidents; against
// somebody who means harm only SHA-256 (base/hash.h) helps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tapml {

// Any single changed byte changes it. The same on every platform.
uint64_t checksum64(std::span<const std::byte> bytes);

}  // namespace tapml
