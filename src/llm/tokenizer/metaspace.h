// Metaspace: a mark that replaces spaces, as in SentencePiece. The pre-tokenizer and the decoder
// share its options.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/json_reader.h"

namespace tapml::tokenizer {

// Which texts get a mark prepended if they do not begin with one.
enum class PrependScheme : uint8_t {
  kAlways,
  kFirst,  // only the very beginning of the input
  kNever,
};

struct MetaspaceOptions {
  std::string mark;  // one character
  PrependScheme scheme = PrependScheme::kAlways;
  bool split = true;  // begins words at marks
};

// Reads `replacement`, `prepend_scheme` and `split`, or the older `add_prefix_space`. UserError for
// a mark that is not one character, an unknown scheme, and contradicting fields.
Result<MetaspaceOptions> read_metaspace(const JsonObjectReader& field);

// A string of exactly one character.
Result<std::string> required_character(const JsonObjectReader& field, std::string_view key);

}  // namespace tapml::tokenizer
