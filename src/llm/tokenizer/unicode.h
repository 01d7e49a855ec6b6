// What normalizers need to know of Unicode, without saying who knows it: platforms that lack the
// native library go without.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tapml::tokenizer {

// The normalization forms of Unicode (UAX 15).
enum class UnicodeForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// Safe to use from several threads.
class UnicodeTables {
 public:
  virtual ~UnicodeTables() = default;

  // `text` (valid UTF-8) in a normalization form. PlatformError where memory runs out.
  virtual Result<std::string> normalized(std::string_view text, UnicodeForm form) const = 0;
  // Every character of `text` (valid UTF-8) in lower case by itself: no context, no locale; U+0130
  // becomes two characters.
  virtual std::string lower_case(std::string_view text) const = 0;
};

}  // namespace tapml::tokenizer
