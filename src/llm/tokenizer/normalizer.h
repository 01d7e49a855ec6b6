// Changes a text before words are cut.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_reader.h"
#include "llm/tokenizer/pattern.h"

namespace tapml::tokenizer {

// Immutable once read.
class Normalizer {
 public:
  // Reads `normalizer` of a tokenizer.json: null, Prepend, Replace, Strip and Sequence of these.
  // UserError for other types and for fields that are missing or malformed.
  static Result<Normalizer> read(const JsonObjectReader& file, const RegexEngine& engine);

  // Whether every text stays as it is.
  bool is_identity() const { return steps_.empty(); }

  // The changed text; `text` is valid UTF-8, and so is the result. UserError where replacing makes
  // it more than 64 times as long (and longer than 64 KiB).
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
  using Step = std::variant<PrependStep, ReplaceStep, StripStep>;

  Status add(const JsonObjectReader& field, const RegexEngine& engine);

  std::vector<Step> steps_;
};

}  // namespace tapml::tokenizer
