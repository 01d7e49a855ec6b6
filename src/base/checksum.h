// A fast 64-bit checksum of bytes in files: XXH64 with seed 0. It finds accidental damage;
// detecting deliberate changes takes SHA-256 (base/hash.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tapml {

// Changing any single byte changes the checksum. The result is the same on every platform.
uint64_t checksum64(std::span<const std::byte> bytes);

}  // namespace tapml
