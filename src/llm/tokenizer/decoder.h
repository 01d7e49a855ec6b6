// From the texts of tokens back to text.
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

// What `decoder` of a tokenizer.json asks for: steps that turn a list of token texts into another,
// joined at the end. Immutable once read.
class Decoder {
 public:
  // Reads ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, and Sequence of these; null or
  // no decoder, as the tokenizers package has it, puts a space between any two tokens.
  // UserError for other types, for fields that are missing or malformed, and for Replace steps that
  // together could make a text more than 4,096 times as long.
  static Result<Decoder> read(const JsonObjectReader& file, const RegexEngine& engine);

 private:
  friend class DecodeStream;
  struct ByteLevel {};     // reads the byte alphabet back; what is not UTF-8 becomes U+FFFD
  struct ByteFallback {};  // runs of <0xHH> become their text, or a U+FFFD each
  struct Fuse {};          // joins all tokens into one
  struct Spaced {};        // a space before every token but the first
  struct Replace {
    std::string text, content;
  };
  struct ReplaceRegex {  // in whole tokens; one on which the engine gives up stays as it is
    Pattern pattern;
    std::string content;
  };
  struct Strip {  // up to `start` and `stop` characters `content` from the ends of a token
    std::string content;
    size_t start = 0, stop = 0;
  };
  struct Metaspace {  // the mark means a space, in the first token nothing where one was added
    std::string mark;
    bool drops_first = true;
  };
  using Step =
      std::variant<ByteLevel, ByteFallback, Fuse, Spaced, Replace, ReplaceRegex, Strip, Metaspace>;

  Status add(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_replace(const JsonObjectReader& field, const RegexEngine& engine);

  std::vector<Step> steps_;
  size_t growth_ = 1;  // most bytes that a byte becomes
};

// One run of a decoder. What it appends, joined, does not depend on when it is asked; a character
// is never cut. Text is held back only while the tokens to come could change it.
class DecodeStream {
 public:
  // The decoder must outlive the stream.
  explicit DecodeStream(const Decoder& decoder);

  // The next token's text (valid UTF-8); appends the text that is certain now.
  void push(std::string_view token, std::string& out) { part(0, token, true, out); }
  // Appends the rest; the stream is as new then.
  void finish(std::string& out);

 private:
  struct State {
    std::string held;
    Utf8Stream bytes;
    size_t stripped = 0;  // characters at the token's start
    bool leading = true;  // still at the token's start
    bool first = true;    // in the first token
  };

  // A part of the token that step `at` reads; `ends` says that it is the token's last.
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
  void run(const Decoder::Metaspace& step, size_t at, std::string_view, bool ends,
           std::string& out);
  void flush_bytes(size_t at, std::string& out);

  const Decoder* decoder_;
  std::vector<State> states_;
  // Of steps that need the whole token; of ByteFallback while `held` of the state has the bytes of
  // the run.
  std::vector<std::string> tokens_;
};

}  // namespace tapml::tokenizer
