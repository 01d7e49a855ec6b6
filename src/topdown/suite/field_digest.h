// A digest of several fields.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/hash.h"

namespace tapml::topdown {

// Hashes fields so that their boundaries count.
class FieldDigest {
 public:
  void text(std::string_view text) {
    number(static_cast<int64_t>(text.size()));
    hash_.update(text);
  }
  void bytes(std::span<const std::byte> bytes) {
    number(static_cast<int64_t>(bytes.size()));
    hash_.update(bytes);
  }
  void number(int64_t value) { hash_.update(std::as_bytes(std::span(&value, 1))); }
  std::string hex() { return to_hex(hash_.digest()).substr(0, 32); }

 private:
  Sha256 hash_;
};

}  // namespace tapml::topdown
