#include "llm/tokenizer/unicode_utf8proc.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "llm/tokenizer/unicode_properties.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

utf8proc_option_t options_of(UnicodeForm form) {
  int options = UTF8PROC_STABLE;
  const bool composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  options |= composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd) options |= UTF8PROC_COMPAT;
  return static_cast<utf8proc_option_t>(options);
}

Status append_normalized(std::string_view text, UnicodeForm form, std::string& out) {
  if (text.empty()) return {};
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (size < 0) {
    return fail(
        platform_error(PlatformFault::kOutOfMemory,
                       std::string("a text cannot be normalized: ") + utf8proc_errmsg(size)));
  }
  out.append(reinterpret_cast<const char*>(made), static_cast<size_t>(size));
  return {};
}

class Utf8procTables final : public UnicodeTables {
 public:
  // The tokenizers package normalizes by Unicode 9: later characters are unchanged, and the
  // characters on their two sides do not combine.
  Result<std::string> normalized(std::string_view text, UnicodeForm form) const override {
    const CodeSet& later = fixed_property(FixedProperty::kAssignedSince9);
    std::string out;
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const Utf8Step step = next_utf8(text, at);
      const size_t end = at + step.length;
      if (step.code_point >= 0x80 && later.contains(step.code_point)) {
        TAPML_TRY(append_normalized(text.substr(done, at - done), form, out));
        out += text.substr(at, step.length);
        done = end;
      }
      at = end;
    }
    TAPML_TRY(append_normalized(text.substr(done), form, out));
    return out;
  }

  std::string lower_case(std::string_view text) const override {
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
      const Utf8Step step = next_utf8(text, at);
      at += step.length;
      if (step.code_point == 0x130) {  // the only one whose lower case is longer
        out += "i\u0307";
      } else {
        const auto lower =
            static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(step.code_point)));
        append_utf8(out, lower == step.code_point ? newer_lower_case(lower) : lower);
      }
    }
    return out;
  }

  size_t cluster_end(std::string_view text, size_t begin) const override {
    utf8proc_int32_t state = 0;
    Utf8Step step = next_utf8(text, begin);
    size_t at = begin + step.length;
    while (at < text.size()) {
      const Utf8Step next = next_utf8(text, at);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(step.code_point),
                                           static_cast<utf8proc_int32_t>(next.code_point),
                                           &state)) {
        break;
      }
      step = next;
      at += step.length;
    }
    return at;
  }
};

}  // namespace

const UnicodeTables& utf8proc_tables() {
  static const Utf8procTables kTables;
  return kTables;
}

}  // namespace tapml::tokenizer
