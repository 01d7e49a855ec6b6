// The normalizer of BERT's tokenizers.
#pragma once

#include <string>
#include <string_view>

#include "llm/tokenizer/unicode.h"

namespace tapml::tokenizer {

struct BertNormalizerOptions {
  bool clean_text = true;            // drops control characters, turns white space into spaces
  bool handle_chinese_chars = true;  // spaces around ideographs
  bool strip_accents = true;         // decomposes and drops marks without a width
  bool lowercase = true;
};

// `text` is valid UTF-8. PlatformError if memory runs out.
Result<std::string> bert_normalized(std::string_view text, const BertNormalizerOptions& options,
                                    const UnicodeTables& unicode);

// Drops the marks of Unicode 9 from `text`; nothing is decomposed.
std::string without_marks(std::string_view text);

}  // namespace tapml::tokenizer
