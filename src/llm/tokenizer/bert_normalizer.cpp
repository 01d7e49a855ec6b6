#include "llm/tokenizer/bert_normalizer.h"

#include "llm/tokenizer/unicode_properties.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// The blocks that the tokenizers package treats as ideographs, with its bounds.
const CodeSet& ideographs() {
  static const CodeSet kBlocks({{0x3400, 0x4DBF},
                                {0x4E00, 0x9FFF},
                                {0xF900, 0xFAFF},
                                {0x20000, 0x2A6DF},
                                {0x2A700, 0x2B81F},
                                {0x2B920, 0x2CEAF},
                                {0x2F800, 0x2FA1F}});
  return kBlocks;
}

// Calls `change(code point, its bytes, out)` for each character, and returns what it appends.
template <class Change>
std::string changed(std::string_view text, const Change& change) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = next_utf8(text, at);
    change(step.code_point, text.substr(at, step.length), out);
    at += step.length;
  }
  return out;
}

std::string cleaned(std::string_view text) {
  return changed(text, [](char32_t c, std::string_view bytes, std::string& out) {
    const bool space = c == '\t' || c == '\n' || c == '\r';
    if (!space && (c == 0 || c == 0xFFFD || fixed_property(FixedProperty::kControl8).contains(c))) {
      return;
    }
    out += space || is_white_space(c) ? std::string_view(" ") : bytes;
  });
}

std::string without(const CodeSet& set, std::string_view text) {
  return changed(text, [&set](char32_t c, std::string_view bytes, std::string& out) {
    if (c < 0x80 || !set.contains(c)) out += bytes;
  });
}

}  // namespace

Result<std::string> bert_normalized(std::string_view text, const BertNormalizerOptions& options,
                                    const UnicodeTables& unicode) {
  std::string out(text);
  if (options.clean_text) out = cleaned(out);
  if (options.handle_chinese_chars) {
    out = changed(out, [](char32_t c, std::string_view bytes, std::string& to) {
      if (c < 0x80 || !ideographs().contains(c)) {
        to += bytes;
      } else {
        to.append(" ").append(bytes).append(" ");
      }
    });
  }
  if (options.strip_accents) {
    TAPML_ASSIGN(out, unicode.normalized(out, UnicodeForm::kNfd));
    out = without(fixed_property(FixedProperty::kNonspacingMark8), out);
  }
  return options.lowercase ? unicode.lower_case(out) : out;
}

std::string without_marks(std::string_view text) {
  return without(fixed_property(FixedProperty::kMark9), text);
}

}  // namespace tapml::tokenizer
