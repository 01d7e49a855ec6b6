// Scans words, numbers and brackets in an argument's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relax/annotation.h"

namespace tapml::app {

// Whether it is a letter, a digit or an underscore.
bool is_word(char c);

// A number of a literal; an integer if it is written as one.
struct Number {
  bool is_integer = false;
  int64_t integer = 0;
  double value = 0;
};

// A position in one argument's text. Functions skip blanks first and take nothing that is not
// there. UserErrors name the parameter and its annotation.
class ArgumentCursor {
 public:
  ArgumentCursor(std::string_view text, std::string parameter, const relax::Annotation& annotation)
      : text_(text), parameter_(std::move(parameter)), annotation_(annotation) {}

  const std::string& parameter() const { return parameter_; }
  std::string_view text() const { return text_; }
  std::string_view rest() const { return text_.substr(at_); }
  bool at_end() const { return at_ >= text_.size(); }
  size_t at() const { return at_; }
  std::string_view from(size_t begin) const { return text_.substr(begin); }
  void go_back(size_t at) { at_ = at; }
  void skip();
  // Everything before the first character that `ends` accepts, without skipping blanks.
  template <class Ends>
  std::string_view take_until(const Ends& ends) {
    const size_t begin = at_;
    while (at_ < text_.size() && !ends(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool take(char c);
  void expect(char c);
  // `word`, with or without an opening bracket.
  bool take_word(std::string_view word, bool with_bracket);
  std::optional<Number> take_number();
  // A number, or a truth value as 1 or 0.
  std::optional<Number> take_scalar();
  int64_t expect_integer(const char* what);
  // Everything up to and including the closing bracket.
  std::vector<int64_t> take_integers(char close, const char* what);
  // An optional number before a bracket.
  std::optional<DType> take_dtype();

  [[noreturn]] void fail(const std::string& problem, const std::string& found,
                         const std::string& hint = "") const;

 private:
  std::string_view text_;
  std::string parameter_;
  const relax::Annotation& annotation_;
  size_t at_ = 0;
};

}  // namespace tapml::app
