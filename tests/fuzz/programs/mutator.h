// Grammar-aware changes to the text of a program: the result is often still a program, and
// otherwise wrong in one place.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tapml::fuzz_programs {

// The line that names the passes to run: "# passes: legalize,dead_code".
inline constexpr const char* kPassesLine = "# passes: ";

class Mutator {
 public:
  // `passes` in the order of the pipeline; `operators` are names of graph operators.
  Mutator(uint32_t seed, std::vector<std::string> passes, std::vector<std::string> operators)
      : random_(seed), passes_(std::move(passes)), operators_(std::move(operators)) {}

  // Makes one to four changes.
  std::string mutate(std::string text);
  // `text` with a function, a line or an annotation of `other`.
  std::string cross(const std::string& text, const std::string& other);
  // A line of passes: the pipeline, a part of it, or some passes in any order.
  std::string passes_line();

 private:
  struct Span {
    size_t begin = 0, end = 0;  // tokens
  };
  using Tokens = std::vector<std::string>;

  uint32_t below(size_t bound) { return static_cast<uint32_t>(random_() % bound); }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  static Tokens split(const std::string& text);
  static std::string join(const Tokens& tokens);
  static std::vector<std::string> lines_of(const std::string& text);
  // Positions of tokens for which `fits` holds.
  template <class F>
  std::vector<size_t> places(const Tokens& tokens, F fits) const;
  // Bracketed parts, including both brackets.
  static std::vector<Span> groups(const Tokens& tokens);
  static std::vector<Span> annotations(const Tokens& tokens);
  // The elements between a group's commas.
  static std::vector<Span> elements(const Tokens& tokens, Span group);
  static std::vector<std::string> functions(const std::string& text);

  std::string random_annotation(int depth);
  std::string random_integer();

  bool change_token(Tokens& tokens);
  bool change_name(Tokens& tokens);
  bool change_number(Tokens& tokens);
  bool change_annotation(Tokens& tokens);
  bool change_list(Tokens& tokens);
  bool change_group(Tokens& tokens);
  bool nest(Tokens& tokens);
  std::string change_lines(const std::string& text);
  std::string change_functions(const std::string& text);
  std::string change_passes(const std::string& text);

  std::mt19937 random_;
  std::vector<std::string> passes_, operators_;
};

}  // namespace tapml::fuzz_programs
