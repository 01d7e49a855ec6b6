// Cuts text into the words that the model encodes separately.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/metaspace.h"
#include "llm/tokenizer/pattern.h"

namespace tapml::tokenizer {

// How a split treats its delimiters.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// A part of a text; all parts with their delimiters form the text.
struct SplitPart {
  Span span;
  bool is_match = false;
};

// Merges alternating matches and gaps into the resulting pieces, without empty ones.
std::vector<Span> apply_behavior(const std::vector<SplitPart>& parts, SplitBehavior behavior);

// The words of one text: views into it, or changed words that are stored in this object.
class Words {
 public:
  Words() = default;
  // The views of a copy would point into the original.
  Words(Words&&) = default;
  Words& operator=(Words&&) = default;

  const std::vector<std::string_view>& views() const { return views_; }

 private:
  friend class PreTokenizer;
  std::vector<std::string_view> views_;
  std::deque<std::string> owned_;
};

// Immutable after it is read.
class PreTokenizer {
 public:
  // Reads `pre_tokenizer` of a tokenizer.json: null, ByteLevel, Metaspace, Split, Digits,
  // Punctuation, Whitespace, WhitespaceSplit, CharDelimiterSplit, BertPreTokenizer, UnicodeScripts,
  // and Sequence of these. UserError for other types, for missing or malformed fields, for patterns
  // that do not compile, and for ByteLevel together with Metaspace.
  static Result<PreTokenizer> read(const JsonObjectReader& file, const RegexEngine& engine);

  // Whether the vocabulary uses the byte alphabet and words are plain bytes.
  bool byte_level() const { return byte_level_; }

  // The words of `text` (valid UTF-8) for the model: bytes, or characters if this is not
  // byte-level. `at_start`: the input begins with `text`. Views are valid while `text` and the
  // result live.
  Result<Words> split(std::string_view text, bool at_start = true) const;

 private:
  // ByteLevel becomes up to three steps: prefix, split, spelling in the byte alphabet.
  struct PrefixSpaceStep {};
  struct SpellStep {};
  struct ScriptStep {};  // words end where the script changes
  struct SplitStep {
    Pattern pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };
  struct MarkStep {  // Metaspace without splitting
    std::string mark;
    PrependScheme scheme = PrependScheme::kAlways;
  };

  Status add(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_byte_level(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_split(const JsonObjectReader& field, const RegexEngine& engine);
  Status add_metaspace(const JsonObjectReader& field);
  Status add_pattern(std::string_view pattern, SplitBehavior behavior, const RegexEngine& engine,
                     bool invert = false);
  static void split_scripts(std::string_view word, std::vector<std::string_view>& out);
  static Status split_word(const SplitStep& step, std::string_view word,
                           std::vector<std::string_view>& out);

  static std::string marked(const MarkStep& step, std::string_view word, bool at_start);

  std::vector<std::variant<PrefixSpaceStep, SplitStep, ScriptStep, SpellStep, MarkStep>> steps_;
  bool byte_level_ = false;
  // The last step spells bytes. It is not carried out, since the model takes bytes; after an
  // earlier such step, the words are converted back at the end.
  bool ends_spelled_ = false;
};

}  // namespace tapml::tokenizer
