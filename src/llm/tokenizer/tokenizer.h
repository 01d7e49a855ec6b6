// Tokenizers from Hugging Face's tokenizer.json (BPE, byte-level or like SentencePiece's, and
// WordPiece), from the older files of the same tokenizers (vocab.json with merges.txt), from
// SentencePiece's tokenizer.model, and from the vocabularies of tiktoken and RWKV.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/json_reader.h"
#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/regex.h"
#include "llm/tokenizer/sentencepiece_file.h"
#include "llm/tokenizer/tokenizer_config.h"
#include "llm/tokenizer/unicode.h"

namespace tapml {

// Immutable, therefore thread-safe.
class Tokenizer {
 public:
  // Reads the text of a tokenizer.json; `source` names it in errors. UserError for text that is not
  // JSON, missing or wrong fields, and unsupported kinds of model, normalizer, pre-tokenizer,
  // post-processor or decoder (the error lists the supported ones). Truncation and padding are
  // ignored: callers limit the length themselves. Without `unicode` there are no Unicode
  // normalizers; both libraries must outlive the tokenizer. `files` are the files next to it, read
  // as transformers 5 does, except that add_bos_token and add_eos_token apply if tokenizer.json has
  // no template.
  static Result<Tokenizer> parse(std::string_view json, std::string_view source,
                                 const tokenizer::RegexEngine& engine,
                                 const tokenizer::UnicodeTables* unicode = nullptr,
                                 const tokenizer::TokenizerFiles& files = {});

  // The same from the text of rwkv_vocab_v20230424.txt: a text becomes the longest tokens from the
  // left. UserError as of tokenizer::read_rwkv_vocabulary(), and for a vocabulary without a token
  // for each byte.
  static Result<Tokenizer> parse_rwkv(std::string_view vocabulary, std::string_view source,
                                      const tokenizer::RegexEngine& engine,
                                      const tokenizer::TokenizerFiles& files = {});

  // The same from a SentencePiece model (tokenizer.model). Control pieces and the unknown piece are
  // special tokens, which texts may contain. Unless the files say something else, the piece of the
  // beginning of a text comes first. UserError as of tokenizer::read_sentencepiece_file() and
  // SentencePieceModel::make().
  static Result<Tokenizer> parse_sentencepiece(std::string_view bytes, std::string_view source,
                                               const tokenizer::RegexEngine& engine,
                                               const tokenizer::TokenizerFiles& files = {});
  // The same from the pieces of such a model, which another file has (GGUF).
  static Result<Tokenizer> of_pieces(tokenizer::SentencePieceFile pieces, std::string_view source,
                                     const tokenizer::RegexEngine& engine,
                                     const tokenizer::TokenizerFiles& files = {});

  // The same from vocab.json and merges.txt (GPT2Tokenizer and Qwen2Tokenizer).
  static Result<Tokenizer> parse_merges(const tokenizer::NamedText& vocab,
                                        const tokenizer::NamedText& merges,
                                        const tokenizer::RegexEngine& engine,
                                        const tokenizer::UnicodeTables* unicode = nullptr,
                                        const tokenizer::TokenizerFiles& files = {});
  // The same from a vocabulary of tiktoken. Special tokens are those of the files.
  static Result<Tokenizer> parse_tiktoken(std::string_view vocabulary, std::string_view source,
                                          const tokenizer::RegexEngine& engine,
                                          const tokenizer::UnicodeTables* unicode = nullptr,
                                          const tokenizer::TokenizerFiles& files = {});

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The token ids of `text`; with `add_special_tokens`, between those of the post-processor (BOS
  // and the like). Special tokens in the text are recognized. Text without tokens becomes bytes or
  // the unknown token, or nothing if the vocabulary has neither. UserError for text that is not
  // UTF-8 (with the byte offset) or longer than 1 GiB.
  Result<std::vector<int32_t>> encode(std::string_view text, bool add_special_tokens = true) const;

  // Like encode(text), but does not repeat a token of the post-processor (BOS) with which the text
  // already begins; `repeated`, if given, reports whether it would have been repeated.
  Result<std::vector<int32_t>> encode_prompt(std::string_view text, bool* repeated = nullptr) const;

  // The text of `ids`, always valid UTF-8: ill-formed bytes become U+FFFD. Ids without a token are
  // ignored; `skip_special` omits special tokens.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  // The largest id plus 1.
  int64_t vocab_size() const;

  // The id of a token in the spelling of tokenizer.json; byte-level words use the byte alphabet.
  std::optional<int32_t> token_to_id(std::string_view token) const;
  // The inverse; the view is valid as long as the tokenizer.
  std::optional<std::string_view> id_to_token(int32_t id) const;
  bool is_special(int32_t id) const;

  // A sentence for each contradiction between the files, with the one that counts.
  const std::vector<std::string>& warnings() const;

 private:
  friend class StreamDecoder;
  struct State;
  // Reads the document of a tokenizer.json, or one that stands for it.
  static Result<Tokenizer> read_document(const Json& document, std::string_view source,
                                         const tokenizer::RegexEngine& engine,
                                         const tokenizer::UnicodeTables* unicode,
                                         const tokenizer::TokenizerConfig& config,
                                         const tokenizer::TokenizerFiles& files);
  // Reads what follows the model; `file` is a tokenizer.json or stands for one, `config` comes from
  // `source`.
  static Result<Tokenizer> finish(std::unique_ptr<State> state, const JsonObjectReader& file,
                                  const tokenizer::RegexEngine& engine,
                                  const tokenizer::TokenizerConfig& config,
                                  const std::string& source);
  explicit Tokenizer(std::unique_ptr<const State> state);

  std::unique_ptr<const State> state_;
};

// Decodes ids one by one. The joined results are Tokenizer::decode of all ids; no result splits a
// character.
class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true);

  // The text that `id` completes; it may be empty.
  std::string push(int32_t id);
  // The remaining text, with U+FFFD for an incomplete character; resets the decoder.
  std::string finish();

 private:
  friend class Tokenizer;
  void append(int32_t id, std::string& out);

  const Tokenizer* tokenizer_;
  bool skip_special_;
  tokenizer::DecodeStream stream_;
};

}  // namespace tapml
