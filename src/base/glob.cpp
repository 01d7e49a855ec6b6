#include "base/glob.h"

namespace tapml {

bool glob_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  // Behind the last star, and the text that it does not stand for yet: only that star is ever
  // tried again, so the time is the product of the lengths at most.
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
