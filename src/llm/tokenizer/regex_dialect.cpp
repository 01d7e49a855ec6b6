#include "llm/tokenizer/regex_dialect.h"

#include <utility>
#include <vector>

#include "llm/tokenizer/regex_class.h"
#include "llm/tokenizer/regex_cursor.h"
#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

// What a backslash and these mean is the same in both dialects.
constexpr std::string_view kSameEscapes = "AzZGKRXkgyY123456789";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : cursor_(pattern) {}

  Result<std::string> run() {
    while (!cursor_.done()) {
      const char c = cursor_.peek();
      // Behind a quantifier still the item that it is about.
      if (!std::string_view("*+?{").contains(c)) last_item_ = out_.size();
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
        interval();
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
      emit(std::string(1, letter), 2);  // letters that mean nothing mean themselves
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

  // In (?imx-imx: and (?imx-imx) the letter m means what PCRE2 calls s.
  void group() {
    open_.push_back(out_.size());
    copy(1);
    if (cursor_.peek() != '?') return;
    const std::string_view rest = cursor_.rest();
    const size_t end = rest.find_first_not_of("imx-", 1);
    if (end == rest.npos || (rest[end] != ':' && rest[end] != ')')) return;
    for (size_t i = 0; i < end; ++i) out_.push_back(rest[i] == 'm' ? 's' : rest[i]);
    cursor_.skip(end);
  }

  // Behind {n,m} a + repeats the whole once more, it is not possessive.
  void interval() {
    const std::string_view rest = cursor_.rest();
    const size_t close = rest.find('}');
    const std::string_view body =
        close == rest.npos ? std::string_view() : rest.substr(1, close - 1);
    const bool is_interval = !body.empty() && body != "," &&
                             body.find_first_not_of("0123456789,") == body.npos &&
                             body.find(',') == body.rfind(',');
    if (!is_interval) return emit("\\{", 1);
    const bool repeated = close + 1 < rest.size() && rest[close + 1] == '+';
    if (repeated) out_.insert(last_item_, "(?:");
    out_ += body.front() == ',' ? "{0" : "{";
    out_.append(body).append(repeated ? "})+" : "}");
    cursor_.skip(close + (repeated ? 2 : 1));
  }

  RegexCursor cursor_;
  std::string out_;
  size_t last_item_ = 0;      // where it begins in out_
  std::vector<size_t> open_;  // where groups begin
};

}  // namespace

Result<std::string> onig_to_pcre2(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace tapml::tokenizer
