// Changes a text before it is cut into words.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/bert_normalizer.h"
#include "llm/tokenizer/characters_map.h"
#include "llm/tokenizer/pattern.h"
#include "llm/tokenizer/unicode.h"

namespace tapml::tokenizer {

// Immutable after it is read.
class Normalizer {
 public:
  // Reads `normalizer` of a tokenizer.json: null, NFC, NFD, NFKC, NFKD, Lowercase, BertNormalizer,
  // StripAccents, Prepend, Precompiled, Replace, Strip and Sequence of these. UserError for other
  // types, for missing or malformed fields and, without `unicode`, for types that need it.
  // `unicode` must outlive the normalizer.
  static Result<Normalizer> read(const JsonObjectReader& file, const RegexEngine& engine,
                                 const UnicodeTables* unicode);

  // Whether every text is unchanged.
  bool is_identity() const { return steps_.empty(); }

  // Normalizes `text` (valid UTF-8); the result is valid UTF-8 too. UserError if a step makes it
  // more than 64 times as long (and longer than 64 KiB).
  Result<std::string> normalize(std::string_view text) const;

 private:
  struct PrependStep {  // for texts that are not empty
    std::string text;
  };
  struct ReplaceStep {
    Pattern pattern;
    std::string content;
  };
  struct StripStep {  // strips white space
    bool left = true, right = true;
  };
  struct LowercaseStep {};
  struct StripMarksStep {};
  using Step = std::variant<PrependStep, ReplaceStep, StripStep, LowercaseStep, StripMarksStep,
                            BertNormalizerOptions, UnicodeForm, CharactersMap>;

  Status add_bert(const JsonObjectReader& field);
  Status add_map(const JsonObjectReader& field);
  Status add(const JsonObjectReader& field, const RegexEngine& engine);
  Result<std::string> carry_out(const Step& step, std::string text, size_t max_size) const;

  const UnicodeTables* unicode_ = nullptr;
  std::vector<Step> steps_;
};

}  // namespace tapml::tokenizer
