// Changes a text before words are cut.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/bert_normalizer.h"
#include "llm/tokenizer/pattern.h"
#include "llm/tokenizer/unicode.h"

namespace tapml::tokenizer {

// Immutable once read.
class Normalizer {
 public:
  // Reads `normalizer` of a tokenizer.json: null, NFC, NFD, NFKC, NFKD, Lowercase,
  // BertNormalizer, StripAccents, Prepend, Replace, Strip and Sequence of these. UserError for
  // other types and for fields that are missing or malformed, and without `unicode` for those that
  // need it. `unicode` must outlive the normalizer.
  static Result<Normalizer> read(const JsonObjectReader& file, const RegexEngine& engine,
                                 const UnicodeTables* unicode);

  // Whether every text stays as it is.
  bool is_identity() const { return steps_.empty(); }

  // The changed text; `text` is valid UTF-8, and so is the result. UserError where a step makes it
  // more than 64 times as long (and longer than 64 KiB).
  Result<std::string> normalize(std::string_view text) const;

 private:
  struct PrependStep {  // to texts that are not empty
    std::string text;
  };
  struct ReplaceStep {
    Pattern pattern;
    std::string content;
  };
  struct StripStep {  // white space
    bool left = true, right = true;
  };
  struct LowercaseStep {};
  struct StripMarksStep {};
  using Step = std::variant<PrependStep, ReplaceStep, StripStep, LowercaseStep, StripMarksStep,
                            BertNormalizerOptions, UnicodeForm>;

  Status add_bert(const JsonObjectReader& field);
  Status add(const JsonObjectReader& field, const RegexEngine& engine);
  Result<std::string> carry_out(const Step& step, std::string text, size_t max_size) const;

  const UnicodeTables* unicode_ = nullptr;
  std::vector<Step> steps_;
};

}  // namespace tapml::tokenizer
