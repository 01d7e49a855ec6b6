// Turns the texts of tokens back into text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "io/json_reader.h"
#include "llm/tokenizer/pattern.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {

// The steps of `decoder` in a tokenizer.json: each turns a list of token texts into another, and
// the last list is joined. Immutable after it is read.
class Decoder {
 public:
  // Reads ByteLevel, Replace, ByteFallback, Fuse, Strip, WordPiece, Metaspace, and Sequence.
  // Without a decoder, or with null, a space separates any two tokens, as in the tokenizers
  // package. UserError for other types, for missing or malformed fields, and for Replace steps that
  // together could make a text more than 4,096 times as long.
  static Result<Decoder> read(const JsonObjectReader& file, const RegexEngine& engine);

 private:
  friend class DecodeStream;
  struct ByteLevel {};     // reads the byte alphabet; what is not UTF-8 becomes U+FFFD
  struct ByteFallback {};  // runs of <0xHH> become their text, or a U+FFFD each
  struct Fuse {};          // joins all tokens into one
  struct Spaced {};        // a space before every token but the first
  struct Replace {
    std::string text, content;
  };
  struct ReplaceRegex {  // in whole tokens; a token on which the engine gives up is kept
    Pattern pattern;
    std::string content;
  };
  struct Strip {  // strips up to `start` and `stop` times `content` from the ends of a token
    std::string content;
    size_t start = 0, stop = 0;
  };
  struct WordPiece {  // a space before a token without the prefix, but the first one
    std::string prefix;
    bool cleanup = true;  // without spaces before punctuation and parts of English words
  };
  struct Metaspace {  // the mark means a space, or nothing in the first token if one was added
    std::string mark;
    bool drops_first = true;
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Spaced, Replace, ReplaceRegex, Strip,
                            WordPiece, Metaspace>;

  Status add(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_replace(const JsonObjectReader& field, const RegexEngine& engine);

  std::vector<Step> steps_;
  size_t growth_ = 1;  // largest number of bytes that a byte becomes
};

// One run of a decoder. The joined output does not depend on how it is split, and never splits a
// character. Text is held back only while later tokens could change it.
class DecodeStream {
 public:
  // The decoder must outlive the stream.
  explicit DecodeStream(const Decoder& decoder);

  // Takes the text of the next token (valid UTF-8); appends the text that is final.
  void push(std::string_view token, std::string& out) { part(0, token, true, out); }
  // Appends the rest, and resets the stream.
  void finish(std::string& out);

 private:
  struct State {
    std::string held;
    Utf8Stream bytes;
    size_t stripped = 0;  // characters at the token's start
    bool leading = true;  // still at the token's start
    bool first = true;    // in the first token
  };

  // Passes a part of a token to step `at`; `ends`: it is the token's last part.
  void part(size_t at, std::string_view text, bool ends, std::string& out);
  void run(const Decoder::ByteLevel& step, size_t at, std::string_view, bool ends,
           std::string& out);
  void run(const Decoder::ByteFallback& step, size_t at, std::string_view, bool ends,
           std::string& out);
  void run(const Decoder::Fuse& step, size_t at, std::string_view, bool ends, std::string& out);
  void run(const Decoder::Spaced& step, size_t at, std::string_view, bool ends, std::string& out);
  void run(const Decoder::Replace& step, size_t at, std::string_view, bool ends, std::string& out);
  void run(const Decoder::ReplaceRegex& step, size_t at, std::string_view, bool ends,
           std::string& out);
  void run(const Decoder::Strip& step, size_t at, std::string_view, bool ends, std::string& out);
  void run(const Decoder::WordPiece& step, size_t at, std::string_view, bool ends,
           std::string& out);
  void run(const Decoder::Metaspace& step, size_t at, std::string_view, bool ends,
           std::string& out);
  void flush_bytes(size_t at, std::string& out);

  const Decoder* decoder_;
  std::vector<State> states_;
  // For steps that need the whole token; for ByteFallback while `held` of the state has the bytes
  // of the run.
  std::vector<std::string> tokens_;
};

}  // namespace tapml::tokenizer
