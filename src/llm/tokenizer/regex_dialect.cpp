#include "llm/tokenizer/regex_dialect.h"

#include <utility>
#include <vector>

#include "llm/tokenizer/regex_class.h"
#include "llm/tokenizer/regex_cursor.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// Escapes with the same meaning in both dialects.
constexpr std::string_view kSameEscapes = "AzZGKRXkgyY123456789";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : cursor_(pattern) {}

  Result<std::string> run() {
    while (!cursor_.done()) {
      if (quantifier()) continue;
      const char c = cursor_.peek();
      last_item_ = out_.size();
      quantified_ = false;
      if (c == '\\') {
        TAPML_TRY(escape());
      } else if (c == '[') {
        TAPML_ASSIGN(const std::string translated, translate_class(cursor_));
        out_ += translated;
      } else if (c == '(') {
        group();
      } else if (c == ')') {
        copy(1);
        if (!open_.empty()) {
          last_item_ = open_.back();
          open_.pop_back();
        }
      } else if (c == '{') {
        emit("\\{", 1);
      } else {
        copy(next_utf8(cursor_.rest(), 0).length);
      }
    }
    return std::move(out_);
  }

 private:
  void copy(size_t bytes) {
    out_ += cursor_.rest().substr(0, bytes);
    cursor_.skip(bytes);
  }

  void emit(std::string_view text, size_t consumed) {
    out_ += text;
    cursor_.skip(consumed);
  }

  Status escape() {
    const char letter = cursor_.peek(1);
    switch (letter) {
      case '\0':
        return cursor_.refuse("a backslash at its end", cursor_.at());
      case 's':
      case 'd':
      case 'h':
        emit(class_of_letter(letter).in_brackets(), 2);
        return {};
      case 'S':
      case 'D':
      case 'H':
        emit(class_of_letter(static_cast<char>(letter - 'A' + 'a')).in_brackets(true), 2);
        return {};
      case 'w':
      case 'W':
        emit(word_alone().in_brackets(letter == 'W'), 2);
        return {};
      case 'b':
      case 'B':
        word_boundary(letter == 'b');
        return {};
      case 'p':
      case 'P':
        property();
        return {};
      case 'O':
        emit("(?s:.)", 2);
        return {};
      case 'N':
        emit("[^\\n]", 2);
        return {};
      case 'M':
        return cursor_.refuse("\\M", cursor_.at());
      default:
        break;
    }
    if (kSameEscapes.contains(letter)) {
      copy(2);
      return {};
    }
    TAPML_ASSIGN(const auto code_point, cursor_.take_escaped(false));
    if (code_point) {
      out_ += CodeSet({{*code_point, *code_point}}).as_class_items();
    } else if (is_letter(letter)) {
      emit(std::string(1, letter), 2);  // other letters denote themselves
    } else {
      copy(1 + next_utf8(cursor_.rest(), 1).length);
    }
    return {};
  }

  void word_boundary(bool wanted) {
    const std::string word = word_alone().in_brackets();
    const std::string same = wanted ? "!" : "=", other = wanted ? "=" : "!";
    emit("(?:(?<=" + word + ")(?" + same + word + ")|(?<!" + word + ")(?" + other + word + "))", 2);
  }

  void property() {
    const char letter = cursor_.peek(1);
    if (const auto property = cursor_.take_property()) {
      out_ += ClassItems::property(property->name, false).in_brackets(property->negated);
    } else {
      emit(std::string(1, letter), 2);
    }
  }

  // In (?imx-imx: and (?imx-imx) the letter m means PCRE2's s.
  void group() {
    open_.push_back(out_.size());
    copy(1);
    if (cursor_.peek() != '?') return;
    const std::string_view rest = cursor_.rest();
    const size_t end = rest.find_first_not_of("imx-", 1);
    if (end == rest.npos || (rest[end] != ':' && rest[end] != ')')) return copy(1);
    for (size_t i = 0; i < end; ++i) out_.push_back(rest[i] == 'm' ? 's' : rest[i]);
    cursor_.skip(end);
  }

  // Moves past a quantifier, if there is one. A second quantifier applies to the item with the
  // first one; in {n,m}+ the + is a quantifier, not the mark of a possessive one.
  bool quantifier() {
    const std::string_view rest = cursor_.rest();
    const bool interval = rest.front() == '{';
    const size_t size =
        interval ? interval_size(rest) : std::string_view("*+?").contains(rest.front());
    if (size == 0) return false;
    if (quantified_) {
      out_.insert(last_item_, "(?:");
      out_ += ')';
    }
    // {,m} means {0,m}.
    if (rest.starts_with("{,")) {
      emit("{0", 1);
      copy(size - 1);
    } else {
      copy(size);
    }
    if (cursor_.peek() == '?' || (!interval && cursor_.peek() == '+')) copy(1);
    quantified_ = true;
    return true;
  }

  // The size of "{n}", "{n,}", "{,m}" or "{n,m}"; 0 if the brace is an ordinary character.
  static size_t interval_size(std::string_view rest) {
    const size_t close = rest.find('}');
    if (close == rest.npos) return 0;
    const std::string_view body = rest.substr(1, close - 1);
    const bool is_interval = !body.empty() && body != "," &&
                             body.find_first_not_of("0123456789,") == body.npos &&
                             body.find(',') == body.rfind(',');
    return is_interval ? close + 1 : 0;
  }

  RegexCursor cursor_;
  std::string out_;
  size_t last_item_ = 0;      // start of the last item in out_
  bool quantified_ = false;   // whether the last item has a quantifier
  std::vector<size_t> open_;  // starts of open groups
};

}  // namespace

Result<std::string> onig_to_pcre2(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace tapml::tokenizer
