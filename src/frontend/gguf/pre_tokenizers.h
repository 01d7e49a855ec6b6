// The pre-tokenizers of byte-level vocabularies, by the names that llama.cpp gives them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapml::frontend {

struct PreTokenizer {
  std::string_view name;  // "tokenizer.ggml.pre"
  // The expressions of the published tokenizer.json, each of which splits what the ones before it
  // left.
  std::span<const std::string_view> splits;
  bool composes = false;        // texts are normalized by NFC
  bool ignores_merges = false;  // a word that is a token is that token
  bool adds_bos = false;        // without tokenizer.ggml.add_bos_token
};

// null if it is unknown. An empty name is "default".
const PreTokenizer* find_pre_tokenizer(std::string_view name);
// "default, llama-bpe, ...".
std::string pre_tokenizer_names();

}  // namespace tapml::frontend
