// Sets of Unicode code points.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tapml::tokenizer {

// Both ends are included.
struct CodeRange {
  char32_t first = 0;
  char32_t last = 0;
};

// Sorted, separate ranges without surrogates.
class CodeSet {
 public:
  CodeSet() = default;
  // `ranges` may be in any order, and overlap.
  explicit CodeSet(const std::vector<CodeRange>& ranges);
  static CodeSet all();

  const std::vector<CodeRange>& ranges() const { return ranges_; }
  bool contains(char32_t code_point) const;

  CodeSet united(const CodeSet& other) const;
  CodeSet intersected(const CodeSet& other) const;
  CodeSet complement() const;

  // The set as the inside of a bracketed class: "\x{41}-\x{5a}".
  std::string as_class_items() const;

 private:
  std::vector<CodeRange> ranges_;
};

}  // namespace tapml::tokenizer
