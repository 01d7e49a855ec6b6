// BPE tokenizers, byte-level ones and those of SentencePiece's kind, read from Hugging Face's
// tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/regex.h"
#include "llm/tokenizer/tokenizer_config.h"
#include "llm/tokenizer/unicode.h"

namespace tapml {

// Immutable, so safe to use from several threads.
class Tokenizer {
 public:
  // Reads the text of a tokenizer.json; `source` names it in errors. UserError for text that is not
  // JSON, fields that are missing or wrong, and kinds of model, normalizer, pre-tokenizer,
  // post-processor or decoder that are not supported (the error says which are). Truncation and
  // padding are read past: callers bound the length themselves. Without `unicode` there are no
  // Unicode normalizers; both libraries must outlive the tokenizer. `files` are those beside it,
  // read as transformers 5 does, but that add_bos_token and add_eos_token count where
  // tokenizer.json has no template.
  static Result<Tokenizer> parse(std::string_view json, std::string_view source,
                                 const tokenizer::RegexEngine& engine,
                                 const tokenizer::UnicodeTables* unicode = nullptr,
                                 const tokenizer::TokenizerFiles& files = {});

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The token ids of `text`; with `add_special_tokens`, those of the post-processor around them
  // (BOS and the like). Special tokens that are spelled out in the text are recognized. What the
  // vocabulary lacks becomes bytes or the unknown token, or nothing where there is neither.
  // UserError for text that is not UTF-8 (with the byte offset) or longer than 1 GiB.
  Result<std::vector<int32_t>> encode(std::string_view text, bool add_special_tokens = true) const;

  // encode(text), but what the post-processor puts first (BOS) is there once only where the text
  // begins with it already; `repeated`, where given, says whether it would have been there twice.
  Result<std::vector<int32_t>> encode_prompt(std::string_view text, bool* repeated = nullptr) const;

  // The text of `ids`, always valid UTF-8: ill-formed bytes become U+FFFD. Ids without a token add
  // nothing; `skip_special` leaves special tokens out.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  // One more than the largest id.
  int64_t vocab_size() const;

  // The id of a token as tokenizer.json writes it; byte-level words are in the byte alphabet.
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // The reverse; the view lives as long as the tokenizer.
  std::optional<std::string_view> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;

  // Where the files contradict each other and one of them counts: a sentence each.
  const std::vector<std::string>& warnings() const;

 private:
  friend class StreamDecoder;
  struct State;
  explicit Tokenizer(std::unique_ptr<const State> state);

  std::unique_ptr<const State> state_;
};

// Decodes ids one by one. What all calls return, joined, is Tokenizer::decode of all ids; no call
// returns a part of a character.
class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);

  // The text that `id` completes; may be empty.
  std::string push(int32_t id);
  // The text that is left at the end, with U+FFFD for a character that never became whole; the
  // decoder is as new then.
  std::string finish();

 private:
  friend class Tokenizer;
  void append(int32_t id, std::string& out);

  const Tokenizer* tokenizer_;
  bool skip_special_;
  tokenizer::DecodeStream stream_;
};

}  // namespace tapml
