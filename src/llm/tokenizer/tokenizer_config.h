// What the files beside a tokenizer.json say about its tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tapml::tokenizer {

struct AddedToken {
  std::string content;
  std::string text;  // what it is decoded to: the content, normalized where it is looked for so
  int32_t id = -1;
  bool special = false;
  bool single_word = false;  // only where no word character touches it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and behind it
  bool normalized = true;    // looked for in the normalized text, and itself normalized
};

// A file's text, empty where there is none, and its name in errors.
struct NamedText {
  std::string text;
  std::string source;
};

struct TokenizerFiles {
  NamedText config;          // tokenizer_config.json
  NamedText special_tokens;  // special_tokens_map.json, older
  NamedText added_tokens;    // added_tokens.json, older
};

// A token that one of these files adds, or whose flags it changes.
struct ConfiguredToken {
  AddedToken token;    // id -1: whichever comes next
  bool named = false;  // bos_token and the like: only its content is known, and it is special
  std::string where;   // the file and the key
};

struct TokenizerConfig {
  std::vector<ConfiguredToken> tokens;  // in the order in which they get their ids
  std::optional<std::string> bos, eos;  // contents
  std::optional<bool> add_bos, add_eos;
};

// Reads them as transformers 5 does: the added_tokens_decoder of the configuration, or without it
// the two older files; then the tokens that have names. UserError for text that is not JSON and for
// fields of another type.
Result<TokenizerConfig> read_tokenizer_config(const TokenizerFiles& files);

}  // namespace tapml::tokenizer
