// HMAC-SHA256 (RFC 2104, FIPS 198-1): only holders of the key can make a code for a message.
#pragma once

#include <initializer_list>

#include "base/hash.h"

namespace tapml {

using HmacKey = std::array<std::byte, 32>;

// The code of the message that is the concatenation of `parts`.
Sha256Digest hmac_sha256(const HmacKey& key,
                         std::initializer_list<std::span<const std::byte>> parts);

// Compares in constant time.
bool same_digest(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace tapml
