// Unicode data for normalizers, independent of its source: platforms without the native library
// have none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml::tokenizer {

// The normalization forms of Unicode (UAX 15).
enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Thread-safe.
class UnicodeTables {
 public:
  virtual ~UnicodeTables() = default;

  // `text` (valid UTF-8) in a normalization form. PlatformError if memory runs out.
  virtual Result<std::string> normalized(std::string_view text, UnicodeForm form) const = 0;
  // `text` (valid UTF-8) with each character in lower case by itself: without context or locale;
  // U+0130 becomes two characters.
  virtual std::string lower_case(std::string_view text) const = 0;
  // The end of the grapheme cluster (UAX 29) that begins at a byte of `text` (valid UTF-8).
  virtual size_t cluster_end(std::string_view text, size_t begin) const = 0;
};

}  // namespace tapml::tokenizer
