#include "app/argument_cursor.h"

#include <cctype>
#include <charconv>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::app {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

void ArgumentCursor::fail(const std::string& problem, const std::string& found,
                          const std::string& hint) const {
  throw_user(problem, "argument " + parameter_, relax::to_string(annotation_),
             found.empty() ? "nothing" : found, hint);
}

void ArgumentCursor::skip() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
}

bool ArgumentCursor::take(char c) {
  skip();
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void ArgumentCursor::expect(char c) {
  if (!take(c)) fail(std::string("an argument lacks '") + c + "'", in_quotes(rest()));
}

bool ArgumentCursor::take_word(std::string_view word, bool with_bracket) {
  skip();
  if (!rest().starts_with(word)) return false;
  size_t end = at_ + word.size();
  if (!with_bracket) {
    if (end < text_.size() && !std::string_view(",)] ").contains(text_[end])) return false;
  } else {
    if (end >= text_.size() || text_[end] != '(') return false;
    ++end;
  }
  at_ = end;
  return true;
}

std::optional<Number> ArgumentCursor::take_number() {
  skip();
  size_t end = at_;
  while (end < text_.size() &&
         (is_word(text_[end]) || text_[end] == '.' || text_[end] == '-' || text_[end] == '+')) {
    ++end;
  }
  const std::string_view word = text_.substr(at_, end - at_);
  const char* last = word.data() + word.size();
  // from_chars rejects a leading plus.
  const char* first = word.data() + (word.starts_with('+') ? 1 : 0);
  Number number;
  if (auto read = std::from_chars(first, last, number.integer);
      read.ec == std::errc() && read.ptr == last && first != last) {
    number.is_integer = true;
    number.value = static_cast<double>(number.integer);
  } else if (auto real = std::from_chars(first, last, number.value);
             real.ec != std::errc() || real.ptr != last || first == last) {
    return {};
  }
  at_ = end;
  return number;
}

int64_t ArgumentCursor::expect_integer(const char* what) {
  const size_t begin = at_;
  const std::optional<Number> number = take_number();
  if (!number || !number->is_integer) {
    fail(std::string(what) + " is not a 64-bit integer", in_quotes(text_.substr(begin)));
  }
  return number->integer;
}

std::vector<int64_t> ArgumentCursor::take_integers(char close, const char* what) {
  std::vector<int64_t> values;
  if (take(close)) return values;
  do {
    values.push_back(expect_integer(what));
  } while (take(','));
  expect(close);
  return values;
}

std::optional<DType> ArgumentCursor::take_dtype() {
  skip();
  size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  if (end == text_.size() || (text_[end] != '[' && text_[end] != '(')) return {};
  const std::optional<DType> dtype = parse_dtype(text_.substr(at_, end - at_));
  if (dtype) at_ = end;
  return dtype;
}

std::optional<Number> ArgumentCursor::take_scalar() {
  if (take_word("true", false)) return Number{true, 1, 1};
  if (take_word("false", false)) return Number{true, 0, 0};
  return take_number();
}

}  // namespace tapml::app
