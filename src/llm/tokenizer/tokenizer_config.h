// The settings of tokens in the files next to a tokenizer.json.
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
  std::string text;  // its decoded text: the content, normalized if the token is
  int32_t id = -1;
  bool special = false;
  bool single_word = false;  // only if no word character is next to it
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // and after it
  bool normalized = true;    // searched in the normalized text, and itself normalized
};

// The text of a file, empty if it is missing, and its name in errors.
struct NamedText {
  std::string text;
  std::string source;
};

struct TokenizerFiles {
  NamedText config;          // tokenizer_config.json
  NamedText special_tokens;  // special_tokens_map.json, older
  NamedText added_tokens;    // added_tokens.json, older
};

// A token that one of these files adds, or whose flags it overrides.
struct ConfiguredToken {
  AddedToken token;    // id -1: the next free one
  bool named = false;  // bos_token and the like: special, with only its content given
  std::string where;   // the file and the key, for errors
};

struct TokenizerConfig {
  std::vector<ConfiguredToken> tokens;  // in the order in which they get ids
  std::optional<std::string> bos, eos;  // their contents
  std::optional<bool> add_bos, add_eos;
  std::optional<bool> legacy;            // of SentencePiece: a mark before each part of a text
  std::optional<bool> add_prefix_space;  // of byte-level BPE
  std::string tokenizer_class;           // "LlamaTokenizer"; empty: not given
};

// Reads the files as transformers 5 does: the added_tokens_decoder of the configuration or, if it
// is missing, the two older files; then the named tokens. UserError for text that is not JSON and
// for fields of another type.
Result<TokenizerConfig> read_tokenizer_config(const TokenizerFiles& files);

}  // namespace tapml::tokenizer
