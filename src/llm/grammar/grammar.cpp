#include "llm/grammar/grammar.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace tapml::llm {

namespace {

constexpr size_t kMostElements = 200000;
constexpr int kMostDepth = 200;  // of parentheses
constexpr int64_t kMostRepeats = 4096;
constexpr uint32_t kLastCharacter = 0x10FFFF;

using Element = Grammar::Element;
using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;  // of characters, both ends inclusive

// Sorted and disjoint.
Ranges normalized(Ranges ranges) {
  std::ranges::sort(ranges);
  Ranges result;
  for (const auto& range : ranges) {
    if (!result.empty() && range.first <= result.back().second + 1) {
      result.back().second = std::max(result.back().second, range.second);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

Ranges complement(const Ranges& ranges) {
  Ranges result;
  uint32_t next = 0;
  for (const auto& [low, high] : normalized(ranges)) {
    if (low > next) result.emplace_back(next, low - 1);
    next = high + 1;
  }
  if (next <= kLastCharacter) result.emplace_back(next, kLastCharacter);
  return result;
}

std::string utf8(uint32_t character) {
  std::string text;
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (character < 0x80) {
    add(character);
  } else if (character < 0x800) {
    add(0xC0 | character >> 6);
    add(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    add(0xE0 | character >> 12);
    add(0x80 | (character >> 6 & 0x3F));
    add(0x80 | (character & 0x3F));
  } else {
    add(0xF0 | character >> 18);
    add(0x80 | (character >> 12 & 0x3F));
    add(0x80 | (character >> 6 & 0x3F));
    add(0x80 | (character & 0x3F));
  }
  return text;
}

// Splits a range of characters into ranges whose UTF-8 is a product of ranges of bytes, one for
// each place: first where the number of bytes changes (and at the surrogates, which have none),
// then at multiples of 64, 64^2, ..., from the last byte on.
void split_utf8(uint32_t low, uint32_t high, Ranges& result) {
  for (const uint32_t last : {0x7Fu, 0x7FFu, 0xD7FFu, 0xFFFFu}) {
    if (low <= last && last < high) {
      split_utf8(low, last, result);
      return split_utf8(last + 1, high, result);
    }
  }
  if (low >= 0xD800 && low <= 0xDFFF) {
    if (high > 0xDFFF) split_utf8(0xE000, high, result);
    return;
  }
  for (const uint32_t bits : {6u, 12u, 18u}) {
    const uint32_t mask = (1u << bits) - 1;
    if (low < 0x80 || (low & ~mask) == (high & ~mask)) break;
    if ((low & mask) != 0) {
      split_utf8(low, low | mask, result);
      return split_utf8((low | mask) + 1, high, result);
    }
    if ((high & mask) != mask) {
      split_utf8(low, (high & ~mask) - 1, result);
      return split_utf8(high & ~mask, high, result);
    }
  }
  result.emplace_back(low, high);
}

}  // namespace

// Reads the notation. Groups and repetitions become rules without a name.
class GrammarParser {
 public:
  GrammarParser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Result<Grammar> run() {
    skip(true);
    while (at_ < text_.size()) {
      TAPML_TRY(read_rule());
      skip(true);
    }
    for (size_t rule = 0; rule < names_.size(); ++rule) {
      if (!defined_[rule]) {
        return fail(user_error("a name of the grammar has no rule", source_,
                               names_[rule] + " ::= ...", "none"));
      }
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) {
      return fail(user_error("the grammar has no rule \"root\"", source_, "root ::= ...", "none"));
    }
    grammar_.root_ = root->second;
    TAPML_TRY(grammar_.check(names_, source_));
    return std::move(grammar_);
  }

 private:
  using Run = std::vector<Element>;

  Error error(const std::string& problem, const std::string& expected) const {
    const std::string_view before = text_.substr(0, at_);
    const auto line = std::ranges::count(before, '\n') + 1;
    const size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
    std::string found = at_ < text_.size() ? std::string(text_.substr(at_, 12)) : "the end";
    return user_error(problem,
                      source_ + ":" + std::to_string(line) + ":" + std::to_string(at_ - start + 1),
                      expected, std::move(found));
  }

  // Skips blanks and comments, and line breaks if `lines`.
  void skip(bool lines) {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && c != '\r' && !(lines && c == '\n')) {
        return;
      }
    }
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  }
  std::string take_name() {
    const size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  int32_t new_rule(const std::string& name) {
    names_.push_back(name);
    defined_.push_back(false);
    grammar_.choices_.emplace_back();
    return static_cast<int32_t>(names_.size()) - 1;
  }
  int32_t rule(const std::string& name) {
    const auto [at, is_new] = rules_.try_emplace(name, 0);
    if (is_new) at->second = new_rule(name);
    return at->second;
  }
  Status add_choice(int32_t rule, const Run& run) {
    std::vector<Element>& elements = grammar_.elements_;
    grammar_.choices_[static_cast<size_t>(rule)].push_back(static_cast<int32_t>(elements.size()));
    elements.insert(elements.end(), run.begin(), run.end());
    elements.push_back({});
    defined_[static_cast<size_t>(rule)] = true;
    if (elements.size() > kMostElements) {
      return fail(user_error("the grammar is too large", source_,
                             "at most " + std::to_string(kMostElements) + " elements", "more"));
    }
    return {};
  }
  Element bytes_element(const Grammar::Bytes& bytes) {
    grammar_.bytes_.push_back(bytes);
    return {Element::Kind::kBytes, static_cast<int32_t>(grammar_.bytes_.size()) - 1};
  }

  Status read_rule() {
    const std::string name = take_name();
    skip(false);
    if (name.empty() || !take("::=")) return fail(error("not a rule", "NAME ::= choices"));
    const int32_t defined = rule(name);
    if (defined_[static_cast<size_t>(defined)]) {
      return fail(error("the rule \"" + name + "\" is defined twice", "one rule of each name"));
    }
    TAPML_TRY(read_choices(defined, 0));
    skip(false);
    if (at_ < text_.size() && text_[at_] != '\n') {
      return fail(error("a rule does not end here", "an element, | or the end of the line"));
    }
    return {};
  }

  Status read_choices(int32_t rule, int depth) {
    if (depth > kMostDepth) return fail(error("parentheses are nested too deep", "fewer"));
    skip(true);
    do {
      TAPML_ASSIGN(const Run run, read_run(depth));
      TAPML_TRY(add_choice(rule, run));
      skip(depth > 0);
      // A choice may go on in the next line.
      const size_t at = at_;
      skip(true);
      if (at_ < text_.size() && text_[at_] == '|') continue;
      if (depth == 0) at_ = at;
    } while (take("|"));
    return {};
  }

  // The elements up to |, ) or the end of the rule.
  Result<Run> read_run(int depth) {
    Run run;
    for (;;) {
      skip(depth > 0);
      if (at_ >= text_.size()) return run;
      const char c = text_[at_];
      Run one;
      if (c == '"') {
        TAPML_ASSIGN(one, read_literal());
      } else if (c == '[') {
        TAPML_ASSIGN(one, read_class());
      } else if (c == '.') {
        ++at_;
        TAPML_ASSIGN(one, characters({{0, kLastCharacter}}));
      } else if (c == '(') {
        ++at_;
        const int32_t group = new_rule("( )");
        TAPML_TRY(read_choices(group, depth + 1));
        skip(true);
        if (!take(")")) return fail(error("a parenthesis is not closed", "\")\""));
        one = {{Element::Kind::kRule, group}};
      } else if (is_name(c)) {
        one = {{Element::Kind::kRule, rule(take_name())}};
      } else {
        return run;
      }
      TAPML_ASSIGN(one, repeated(std::move(one)));
      run.insert(run.end(), one.begin(), one.end());
      if (run.size() > kMostElements) {
        return fail(error("the grammar is too large",
                          "at most " + std::to_string(kMostElements) + " elements"));
      }
    }
  }

  Result<Run> repeated(Run one) {
    skip(false);
    int64_t least = 0, most = -1;
    if (take("?")) {
      most = 1;
    } else if (take("+")) {
      least = 1;
    } else if (take("{")) {
      TAPML_ASSIGN(least, read_number());
      most = least;
      skip(false);
      if (take(",")) {
        skip(false);
        most = -1;
        if (at_ < text_.size() && text_[at_] != '}') {
          TAPML_ASSIGN(most, read_number());
        }
      }
      skip(false);
      if (!take("}") || (most >= 0 && most < least)) {
        return fail(error("a repetition is wrong", "{n}, {n,} or {n,m} with n at most m"));
      }
    } else if (!take("*")) {
      return one;
    }
    Run run;
    for (int64_t i = 0; i < least; ++i) run.insert(run.end(), one.begin(), one.end());
    if (most < 0) {  // r ::= one r |
      const int32_t rest = new_rule("repetition");
      Run again = one;
      again.push_back({Element::Kind::kRule, rest});
      TAPML_TRY(add_choice(rest, again));
      TAPML_TRY(add_choice(rest, {}));
      run.push_back({Element::Kind::kRule, rest});
    } else {  // r ::= one (one (...)?)?
      std::optional<int32_t> inner;
      for (int64_t i = least; i < most; ++i) {
        const int32_t optional = new_rule("repetition");
        Run again = one;
        if (inner) again.push_back({Element::Kind::kRule, *inner});
        TAPML_TRY(add_choice(optional, again));
        TAPML_TRY(add_choice(optional, {}));
        inner = optional;
      }
      if (inner) run.push_back({Element::Kind::kRule, *inner});
    }
    return run;
  }

  Result<int64_t> read_number() {
    int64_t number = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      number = std::min<int64_t>(10 * number + (text_[at_] - '0'), kMostRepeats + 1);
    }
    if (at_ == start || number > kMostRepeats) {
      return fail(
          error("a number of repetitions is wrong", "0 to " + std::to_string(kMostRepeats)));
    }
    return number;
  }

  // One character of a literal or a class.
  Result<uint32_t> read_character() {
    if (at_ >= text_.size() || text_[at_] == '\n') {
      return fail(error("a literal or a class does not end", "its end on the same line"));
    }
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte == '\\') return read_escape();
    ++at_;
    if (byte < 0x80) return byte;
    const int more = byte >= 0xF0 ? 3 : byte >= 0xE0 ? 2 : 1;
    uint32_t character = byte & (0x3Fu >> more);
    for (int i = 0; i < more; ++i, ++at_) {
      if (at_ >= text_.size() || (static_cast<unsigned char>(text_[at_]) & 0xC0) != 0x80) {
        return fail(error("the grammar is not UTF-8", "UTF-8"));
      }
      character = character << 6 | (static_cast<unsigned char>(text_[at_]) & 0x3Fu);
    }
    return character;
  }
  Result<uint32_t> read_escape() {
    ++at_;
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
      case 'n':
        return '\n';
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'x':
        return read_hex(2);
      case 'u':
        return read_hex(4);
      case 'U':
        return read_hex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
      case '/':
        return static_cast<unsigned char>(c);
      default:
        return fail(error("an escape is not known", R"(\n \t \r \\ \" \[ \] \- \^ \xHH \uHHHH)"));
    }
  }
  Result<uint32_t> read_hex(int digits) {
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const std::string_view all = "0123456789abcdef";
      const size_t digit = all.find(static_cast<char>(c | 0x20));
      if (digit == std::string_view::npos || (c < '0')) {
        return fail(error("an escape is not complete", std::to_string(digits) + " digits"));
      }
      value = value << 4 | static_cast<uint32_t>(digit);
    }
    if (value > kLastCharacter || (value >= 0xD800 && value <= 0xDFFF)) {
      return fail(error("an escape is not a character", "U+0000 to U+10FFFF, no surrogate"));
    }
    return value;
  }

  Result<Run> read_literal() {
    ++at_;
    Run run;
    while (at_ < text_.size() && text_[at_] != '"') {
      TAPML_ASSIGN(const uint32_t character, read_character());
      for (const char byte : utf8(character)) {
        Grammar::Bytes bytes;
        bytes.set(static_cast<unsigned char>(byte));
        run.push_back(bytes_element(bytes));
      }
    }
    if (!take("\"")) return fail(error("a literal does not end", "\""));
    return run;
  }

  Result<Run> read_class() {
    ++at_;
    const bool is_negated = take("^");
    Ranges ranges;
    while (at_ < text_.size() && text_[at_] != ']') {
      TAPML_ASSIGN(const uint32_t low, read_character());
      uint32_t high = low;
      if (text_.substr(at_).starts_with("-") && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        TAPML_ASSIGN(high, read_character());
      }
      if (high < low) return fail(error("a range of characters is empty", "LOW-HIGH"));
      ranges.emplace_back(low, high);
    }
    if (!take("]")) return fail(error("a class does not end", "]"));
    ranges = is_negated ? complement(ranges) : normalized(ranges);
    if (ranges.empty()) return fail(error("a class is empty", "at least one character"));
    return characters(ranges);
  }

  // One of the characters: one set of bytes, or a rule with a choice for each form of UTF-8.
  Result<Run> characters(const Ranges& ranges) {
    Ranges split;
    for (const auto& [low, high] : ranges) split_utf8(low, high, split);
    Grammar::Bytes single;
    std::vector<Run> longer;
    for (const auto& [low, high] : split) {
      const std::string first = utf8(low), last = utf8(high);
      if (first.size() == 1) {
        for (uint32_t c = low; c <= high; ++c) single.set(c);
        continue;
      }
      Run run;
      for (size_t i = 0; i < first.size(); ++i) {
        Grammar::Bytes bytes;
        for (int byte = static_cast<unsigned char>(first[i]);
             byte <= static_cast<unsigned char>(last[i]); ++byte) {
          bytes.set(static_cast<size_t>(byte));
        }
        run.push_back(bytes_element(bytes));
      }
      longer.push_back(std::move(run));
    }
    if (longer.empty() && single.any()) return Run{bytes_element(single)};
    const int32_t rule = new_rule("[ ]");
    if (single.any()) TAPML_TRY(add_choice(rule, {bytes_element(single)}));
    for (const Run& run : longer) TAPML_TRY(add_choice(rule, run));
    if (!defined_[static_cast<size_t>(rule)]) {
      return fail(error("a class has only surrogates", "characters"));
    }
    return Run{{Element::Kind::kRule, rule}};
  }

  std::string_view text_;
  const std::string& source_;
  size_t at_ = 0;
  Grammar grammar_;
  std::map<std::string, int32_t> rules_;
  std::vector<std::string> names_;
  std::vector<bool> defined_;
};

Result<Grammar> Grammar::parse(std::string_view text, const std::string& source) {
  return GrammarParser(text, source).run();
}

std::vector<bool> Grammar::derivable(bool with_bytes) const {
  // A choice waits for its rules; each rule that is found releases the choices that have it. This
  // takes a step per element, in whatever order the rules are written.
  struct Choice {
    size_t rule;
    int64_t missing = 0;
  };
  std::vector<Choice> waiting;
  std::vector<std::vector<size_t>> uses(choices_.size());
  std::vector<size_t> found;
  for (size_t rule = 0; rule < choices_.size(); ++rule) {
    for (int32_t at : choices_[rule]) {
      Choice choice{.rule = rule};
      bool is_out = false;
      for (; element(at).kind != Element::Kind::kEnd; ++at) {
        if (element(at).kind == Element::Kind::kBytes) {
          is_out |= !with_bytes;
        } else {
          ++choice.missing;
          uses[static_cast<size_t>(element(at).index)].push_back(waiting.size());
        }
      }
      if (is_out) choice.missing = std::numeric_limits<int64_t>::max();
      if (choice.missing == 0) found.push_back(rule);
      waiting.push_back(choice);
    }
  }
  std::vector<bool> derivable(choices_.size());
  while (!found.empty()) {
    const size_t rule = found.back();
    found.pop_back();
    if (derivable[rule]) continue;
    derivable[rule] = true;
    for (const size_t choice : uses[rule]) {
      if (--waiting[choice].missing == 0) found.push_back(waiting[choice].rule);
    }
  }
  return derivable;
}

Status Grammar::check(const std::vector<std::string>& names, const std::string& source) const {
  const size_t count = choices_.size();
  const std::vector<bool> productive = derivable(/*with_bytes=*/true);
  for (size_t rule = 0; rule < count; ++rule) {
    if (productive[rule]) continue;
    return fail(user_error("no finite text satisfies a rule of the grammar", source,
                           "a choice without the rule itself", names[rule]));
  }
  // Left recursion: a path from a rule to itself through the rules with which its choices begin.
  const std::vector<bool> nullable = derivable(/*with_bytes=*/false);
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(count, Mark::kNew);
  struct Visit {
    size_t rule, choice;
    int32_t at;
  };
  for (size_t start = 0; start < count; ++start) {
    if (marks[start] != Mark::kNew) continue;
    std::vector<Visit> path = {{start, 0, choices_[start].front()}};
    marks[start] = Mark::kOpen;
    while (!path.empty()) {
      Visit& visit = path.back();
      const Element& one = element(visit.at);
      if (one.kind == Element::Kind::kRule) {
        const auto next = static_cast<size_t>(one.index);
        if (marks[next] == Mark::kOpen) {
          return fail(user_error("a rule of the grammar begins with itself", source,
                                 "right recursion: the rule at the end of its choice",
                                 names[next]));
        }
        if (marks[next] == Mark::kNew) {
          marks[next] = Mark::kOpen;
          path.push_back({next, 0, choices_[next].front()});
          continue;
        }
        if (nullable[next]) {
          ++visit.at;
          continue;
        }
      }
      if (++visit.choice < choices_[visit.rule].size()) {
        visit.at = choices_[visit.rule][visit.choice];
      } else {
        marks[visit.rule] = Mark::kDone;
        path.pop_back();
      }
    }
  }
  return {};
}

}  // namespace tapml::llm
