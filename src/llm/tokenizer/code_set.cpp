#include "llm/tokenizer/code_set.h"

#include <algorithm>

namespace tapml::tokenizer {
namespace {

constexpr char32_t kLastCodePoint = 0x10FFFF;
constexpr CodeRange kSurrogates = {0xD800, 0xDFFF};

void append_code_point(std::string& out, char32_t code_point) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string digits;
  for (; code_point != 0 || digits.empty(); code_point >>= 4) digits += kHex[code_point & 15];
  out.append("\\x{").append(digits.rbegin(), digits.rend()).append("}");
}

}  // namespace

CodeSet::CodeSet(const std::vector<CodeRange>& ranges) {
  std::vector<CodeRange> parts;
  parts.reserve(ranges.size());
  for (const CodeRange& range : ranges) {
    if (range.last < kSurrogates.first || range.first > kSurrogates.last) {
      parts.push_back(range);
      continue;
    }
    if (range.first < kSurrogates.first) parts.push_back({range.first, kSurrogates.first - 1});
    if (range.last > kSurrogates.last) parts.push_back({kSurrogates.last + 1, range.last});
  }
  std::sort(parts.begin(), parts.end(),
            [](const CodeRange& a, const CodeRange& b) { return a.first < b.first; });
  for (const CodeRange& part : parts) {
    if (!ranges_.empty() && part.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, part.last);
    } else {
      ranges_.push_back(part);
    }
  }
}

CodeSet CodeSet::all() { return CodeSet({{0, kLastCodePoint}}); }

bool CodeSet::contains(char32_t code_point) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                       [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != ranges_.begin() && code_point <= std::prev(after)->last;
}

CodeSet CodeSet::united(const CodeSet& other) const {
  std::vector<CodeRange> both = ranges_;
  both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
  return CodeSet(both);
}

CodeSet CodeSet::intersected(const CodeSet& other) const {
  return complement().united(other.complement()).complement();
}

CodeSet CodeSet::complement() const {
  std::vector<CodeRange> rest;
  char32_t next = 0;
  for (const CodeRange& range : ranges_) {
    if (range.first > next) rest.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) rest.push_back({next, kLastCodePoint});
  return CodeSet(rest);
}

std::string CodeSet::as_class_items() const {
  std::string out;
  for (const CodeRange& range : ranges_) {
    append_code_point(out, range.first);
    if (range.last == range.first) continue;
    out += '-';
    append_code_point(out, range.last);
  }
  return out;
}

}  // namespace tapml::tokenizer
