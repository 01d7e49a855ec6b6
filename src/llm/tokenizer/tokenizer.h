// Byte-level BPE tokenizers, read from Hugging Face's tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/tokenizer/regex.h"
#include "llm/tokenizer/utf8.h"

namespace tapml {

// Immutable, so safe to use from several threads.
class Tokenizer {
 public:
  // Reads the text of a tokenizer.json; `source` names it in errors. UserError for text that is not
  // JSON, fields that are missing or wrong, and kinds of model, normalizer, pre-tokenizer,
  // post-processor or decoder that are not supported (the error says which are). Truncation and
  // padding are read past: callers bound the length themselves.
  static Result<Tokenizer> parse(std::string_view json, std::string_view source,
                                 const tokenizer::RegexEngine& engine);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The token ids of `text`; with `add_special_tokens`, those of the post-processor around them
  // (BOS and the like). Special tokens that are spelled out in the text are recognized. Bytes that
  // the vocabulary lacks become the unknown token, or nothing where there is none. UserError for
  // text that is not UTF-8 (with the byte offset) or longer than 1 GiB.
  Result<std::vector<int32_t>> encode(std::string_view text, bool add_special_tokens = true) const;

  // The text of `ids`, always valid UTF-8: ill-formed bytes become U+FFFD. Ids without a token add
  // nothing; `skip_special` leaves special tokens out.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  // One more than the largest id.
  int64_t vocab_size() const;

  // The id of a token as tokenizer.json writes it; words are in the byte alphabet.
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // The reverse; the view lives as long as the tokenizer.
  std::optional<std::string_view> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;

 private:
  friend class StreamDecoder;
  struct State;
  explicit Tokenizer(std::unique_ptr<const State> state);

  // Appends the bytes that `id` stands for, which may be a part of a character.
  void append_bytes(int32_t id, bool skip_special, std::string& out) const;

  std::unique_ptr<const State> state_;
};

// Decodes ids one by one. What all calls return, joined, is Tokenizer::decode of all ids; no call
// returns a part of a character.
class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  // The text that `id` completes; may be empty.
  std::string push(int32_t id);
  // The text that is left at the end: U+FFFD for a character that never became whole.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  tokenizer::Utf8Stream stream_;
};

}  // namespace tapml
