// HMAC-SHA256 (RFC 2104, FIPS 198-1): who does not have the key can make no code for a message.
#pragma once

#include <initializer_list>

#include "base/hash.h"

namespace tapml {

using HmacKey = std::array<std::byte, 32>;

// Of the message that `parts` are one after the other.
Sha256Digest hmac_sha256(const HmacKey& key,
                         std::initializer_list<std::span<const std::byte>> parts);

// Takes the same time whatever differs.
bool same_digest(const Sha256Digest& a, const Sha256Digest& b);

}  // namespace tapml
