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
// One whose splits and merges are these, with the same normalization if there is one; null if there
// is none.
const PreTokenizer* find_pre_tokenizer(std::span<const std::string> splits, bool composes,
                                       bool ignores_merges);
// The splits of GPT-2, which are the "ByteLevel" pre-tokenizer's own, and of single digits.
std::string_view gpt2_words();
std::string_view single_digits();
// "default, llama-bpe, ...".
std::string pre_tokenizer_names();

}  // namespace tapml::frontend
