#include "base/glob.h"

namespace tapml {

bool glob_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  // The position after the last star, and the text that it does not match yet. Only the last star
  // is ever retried, so the time is at most the product of the lengths.
  size_t star = std::string_view::npos, rest = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      rest = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star;
      t = ++rest;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace tapml
