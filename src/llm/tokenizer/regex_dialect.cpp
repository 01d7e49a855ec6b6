#include "llm/tokenizer/regex_dialect.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tapml::tokenizer {
namespace {

// Unicode White_Space. PCRE2's own \s also holds U+180E, which has left that property.
constexpr std::string_view kSpace =
    "\\x09-\\x0d\\x20\\x85\\xa0\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}";
constexpr std::string_view kNotSpace =
    "\\x00-\\x08\\x0e-\\x1f\\x21-\\x84\\x86-\\x9f\\xa1-\\x{167f}\\x{1681}-\\x{1fff}"
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"
    "\\x{3001}-\\x{d7ff}\\x{e000}-\\x{10ffff}";
// PCRE2's own \w lacks marks and connectors and has numbers that are not decimal digits.
constexpr std::string_view kWord = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
// Outside brackets Oniguruma's \w and \b also take the Latin-1 numbers that are not digits.
constexpr std::string_view kWordAlone =
    "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\xb2\\xb3\\xb9\\xbc-\\xbe";
constexpr std::string_view kHexDigit = "0-9a-fA-F";

// [:name:] inside a class.
constexpr std::pair<std::string_view, std::string_view> kPosixClasses[] = {
    {"[:alnum:]", "\\p{Alphabetic}\\p{Nd}"},
    {"[:alpha:]", "\\p{Alphabetic}"},
    {"[:blank:]", "\\p{Zs}\\t"},
    {"[:cntrl:]", "\\p{Cc}"},
    {"[:digit:]", "\\p{Nd}"},
    {"[:lower:]", "\\p{Lowercase}"},
    {"[:punct:]", "\\p{P}\\p{S}"},
    {"[:space:]", kSpace},
    {"[:upper:]", "\\p{Uppercase}"},
    {"[:word:]", kWord},
    {"[:xdigit:]", kHexDigit},
};

// Names of more than two letters in \p{...} that are not scripts, as compared: lower case, no
// marks.
constexpr std::string_view kNotScripts[] = {"alphabetic",
                                            "any",
                                            "ascii",
                                            "cased",
                                            "caseignorable",
                                            "dash",
                                            "diacritic",
                                            "emoji",
                                            "emojicomponent",
                                            "emojimodifier",
                                            "emojimodifierbase",
                                            "emojipresentation",
                                            "extendedpictographic",
                                            "extender",
                                            "hexdigit",
                                            "idcontinue",
                                            "idstart",
                                            "ideographic",
                                            "lowercase",
                                            "math",
                                            "quotationmark",
                                            "radical",
                                            "regionalindicator",
                                            "unifiedideograph",
                                            "uppercase",
                                            "variationselector",
                                            "whitespace",
                                            "xidcontinue",
                                            "xidstart"};

bool names_script(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return plain.size() > 2 && std::ranges::find(kNotScripts, plain) == std::end(kNotScripts);
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\') {
        TAPML_TRY(escape());
      } else if (c == '[') {
        TAPML_TRY(character_class());
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        TAPML_TRY(interval());
      } else {
        out_.push_back(c);
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  std::unexpected<Error> refuse(std::string what, size_t at) const {
    return fail(user_error("the regular expression uses " + what + ", which is not supported",
                           "byte " + std::to_string(at) + " of the pattern", "",
                           std::string(pattern_)));
  }

  char peek(size_t ahead) const {
    return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
  }

  void emit(std::string_view text, size_t consumed) {
    out_ += text;
    at_ += consumed;
  }

  std::string as_class(std::string_view items, bool negated = false) const {
    return (negated ? "[^" : "[") + std::string(items) + "]";
  }

  Status escape() {
    switch (peek(1)) {
      case '\0':
        return refuse("a backslash at its end", at_);
      case 's':
        emit(as_class(kSpace), 2);
        break;
      case 'S':
        emit(as_class(kSpace, true), 2);
        break;
      case 'w':
        emit(as_class(kWordAlone), 2);
        break;
      case 'W':
        emit(as_class(kWordAlone, true), 2);
        break;
      case 'h':
        emit(as_class(kHexDigit), 2);
        break;
      case 'H':
        emit(as_class(kHexDigit, true), 2);
        break;
      case 'b':
      case 'B': {
        const std::string word = as_class(kWordAlone);
        const std::string same = peek(1) == 'b' ? "!" : "=";
        const std::string other = peek(1) == 'b' ? "=" : "!";
        emit("(?:(?<=" + word + ")(?" + same + word + ")|(?<!" + word + ")(?" + other + word + "))",
             2);
        break;
      }
      case 'p':
      case 'P':
        property();
        break;
      default:
        emit(pattern_.substr(at_, 2), 2);
    }
    return {};
  }

  // \p{...} goes over whole, so that its braces are not taken for an interval. A bare script name
  // means the script there, its extensions here.
  void property() {
    const size_t close = peek(2) == '{' ? pattern_.find('}', at_) : std::string_view::npos;
    if (close == std::string_view::npos) return emit(pattern_.substr(at_, 2), 2);
    std::string_view name = pattern_.substr(at_ + 3, close - at_ - 3);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    const std::string script = names_script(name) ? "sc:" : "";
    emit("\\" + std::string(1, peek(1)) + (negated ? "{^" : "{") + script + std::string(name) + "}",
         close + 1 - at_);
  }

  Status character_class() {
    const size_t start = at_;
    emit("[", 1);
    if (peek(0) == '^') emit("^", 1);
    if (peek(0) == ']') emit("\\]", 1);
    while (at_ < pattern_.size() && pattern_[at_] != ']') {
      if (peek(0) == '\\') {
        TAPML_TRY(class_escape());
      } else if (peek(0) == '[') {
        TAPML_TRY(posix_class());
      } else if (peek(0) == '&' && peek(1) == '&') {
        return refuse("an intersection of classes", at_);
      } else {
        out_.push_back(pattern_[at_++]);
      }
    }
    if (at_ == pattern_.size()) return refuse("a class without its ]", start);
    emit("]", 1);
    return {};
  }

  Status class_escape() {
    switch (peek(1)) {
      case '\0':
        return refuse("a backslash at its end", at_);
      case 's':
        emit(kSpace, 2);
        break;
      case 'S':
        emit(kNotSpace, 2);
        break;
      case 'w':
        emit(kWord, 2);
        break;
      case 'h':
        emit(kHexDigit, 2);
        break;
      case 'W':
      case 'H':
        return refuse(std::string("\\") + peek(1) + " inside a class", at_);
      case 'p':
      case 'P':
        property();
        break;
      default:
        emit(pattern_.substr(at_, 2), 2);
    }
    return {};
  }

  Status posix_class() {
    const size_t close = pattern_.find(":]", at_);
    if (peek(1) != ':' || close == std::string_view::npos) {
      return refuse("a class inside a class", at_);
    }
    const std::string_view whole = pattern_.substr(at_, close + 2 - at_);
    for (const auto& [name, items] : kPosixClasses) {
      if (whole == name) {
        emit(items, whole.size());
        return {};
      }
    }
    return refuse("the class " + std::string(whole), at_);
  }

  // In (?imx-imx: and (?imx-imx) the letter m means what PCRE2 calls s.
  void group() {
    emit("(", 1);
    if (peek(0) != '?') return;
    size_t end = at_ + 1;
    while (end < pattern_.size() && std::string_view("imx-").contains(pattern_[end])) ++end;
    if (end == pattern_.size() || (pattern_[end] != ':' && pattern_[end] != ')')) return;
    for (; at_ < end; ++at_) out_.push_back(pattern_[at_] == 'm' ? 's' : pattern_[at_]);
  }

  Status interval() {
    const size_t close = pattern_.find('}', at_);
    if (close == std::string_view::npos) {
      emit("\\{", 1);
      return {};
    }
    const std::string_view body = pattern_.substr(at_ + 1, close - at_ - 1);
    const bool is_interval = !body.empty() && body != "," &&
                             body.find_first_not_of("0123456789,") == body.npos &&
                             body.find(',') == body.rfind(',');
    if (!is_interval) {
      emit("\\{", 1);
      return {};
    }
    if (close + 1 < pattern_.size() && pattern_[close + 1] == '+') {
      return refuse("an interval followed by +", at_);
    }
    out_ += body.front() == ',' ? "{0" : "{";
    out_ += body;
    out_ += "}";
    at_ = close + 1;
    return {};
  }

  std::string_view pattern_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> onig_to_pcre2(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace tapml::tokenizer
