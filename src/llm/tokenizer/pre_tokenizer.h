// Cuts text into the words that the model encodes one by one.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/regex.h"

namespace tapml::tokenizer {

// What becomes of the delimiters that a split finds.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Parts of a text whose concatenation, delimiters included, is the text.
struct SplitPart {
  Span span;
  bool is_match = false;
};

// Groups alternating matches and gaps into the pieces that stay; empty ones are left out.
std::vector<Span> apply_behavior(const std::vector<SplitPart>& parts, SplitBehavior behavior);

// The words of one text. Most are views into it; changed ones live here.
class Words {
 public:
  Words() = default;
  // A copy's views would point into the original.
  Words(Words&&) = default;
  Words& operator=(Words&&) = default;

  const std::vector<std::string_view>& views() const { return views_; }

 private:
  friend class PreTokenizer;
  std::vector<std::string_view> views_;
  std::deque<std::string> owned_;
};

// Immutable once read.
class PreTokenizer {
 public:
  // Reads `pre_tokenizer` of a tokenizer.json: ByteLevel, Split, Digits, Punctuation, and Sequence
  // of these. UserError for other types, for fields that are missing or malformed, for patterns
  // that do not compile, and when no ByteLevel is there.
  static Result<PreTokenizer> read(const JsonObjectReader& file, const RegexEngine& engine);

  // The words of `text` (valid UTF-8), as the bytes that the model takes; views stay valid while
  // `text` and the result live.
  Result<Words> split(std::string_view text) const;

 private:
  // ByteLevel becomes up to three steps: prefix, split, spelling in the byte alphabet.
  struct PrefixSpaceStep {};
  struct SpellStep {};
  struct SplitStep {
    std::unique_ptr<Regex> regex;  // absent: split at `literal`
    std::string literal;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };

  Status add(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_byte_level(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_split(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_pattern(std::string_view pattern, SplitBehavior behavior, const RegexEngine& engine);
  static Status split_word(const SplitStep& step, std::string_view word,
                           std::vector<std::string_view>& out);

  std::vector<std::variant<PrefixSpaceStep, SplitStep, SpellStep>> steps_;
  // The last step spells bytes. The model takes bytes, so that step is not carried out; where it is
  // an earlier one, the words are spelled back at the end.
  bool ends_spelled_ = false;
};

}  // namespace tapml::tokenizer
