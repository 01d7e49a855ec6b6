#include "text/names.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tensor/dtype.h"
#include "text/literals.h"

namespace tapml::text {

namespace {

constexpr std::string_view kGraphWords[] = {
    "Buffer", "Callable", "Object", "Prim", "Shape",  "Tensor", "Tuple", "block",
    "const",  "dataflow", "def",    "else", "extern", "if",     "let",   "match_cast",
    "module", "op",       "output", "prim", "return", "shape",  "while", "yield",
};

constexpr std::string_view kOtherWords[] = {
    "alloc", "and", "barrier", "cast", "false",  "for", "impure", "in",    "inf",    "init",  "max",
    "min",   "nan", "not",     "or",   "select", "str", "true",   "where", "writes", "reads",
};

template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string backquoted(std::string_view name) {
  std::string text = format_string(name);
  text.front() = text.back() = '`';
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '`') text.replace(i, 1, "\\x60");
  }
  return text;
}

}  // namespace

bool is_reserved_in_graph(std::string_view word) {
  return contains(kGraphWords, word) || parse_dtype(word).has_value();
}

bool is_reserved(std::string_view word) {
  return is_reserved_in_graph(word) || contains(kOtherWords, word);
}

bool is_identifier_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_identifier_char(char c) { return is_identifier_start(c) || (c >= '0' && c <= '9'); }

bool is_identifier(std::string_view word) {
  if (word.empty() || !is_identifier_start(word[0])) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (is_identifier_char(word[i])) continue;
    if (word[i] != '.' || i + 1 == word.size() || !is_identifier_char(word[i + 1])) return false;
  }
  return true;
}

std::string format_name(std::string_view name) {
  return is_identifier(name) && !is_reserved(name) ? std::string(name) : backquoted(name);
}

std::string format_free_name(std::string_view name) {
  return is_identifier(name) ? std::string(name) : backquoted(name);
}

void NameTable::pop() {
  for (const std::string& name : scopes_.back()) {
    owners_.erase(name);
    look_again_at(name);
  }
  scopes_.pop_back();
  for (const std::string& name : released_) look_again_at(name);
  released_.clear();
}

void NameTable::release(const void* node) {
  auto it = names_.find(node);
  if (it == names_.end()) return;
  owners_.erase(it->second);
  released_.push_back(it->second);
}

void NameTable::look_again_at(const std::string& name) {
  const size_t end = name.rfind('_');
  int number = 0;
  if (end == std::string::npos ||
      std::from_chars(name.data() + end + 1, name.data() + name.size(), number).ptr !=
          name.data() + name.size()) {
    return;
  }
  auto it = last_suffix_.find(name.substr(0, end));
  if (it != last_suffix_.end()) it->second = std::max(0, std::min(it->second, number - 1));
}

const std::string& NameTable::assign(const void* node, const std::string& wanted, size_t scope) {
  std::string name = wanted.empty() ? "v" : wanted;
  if (owners_.contains(name)) {
    const std::string base = name;
    int& suffix = last_suffix_[base];
    do {
      name = base + "_" + std::to_string(++suffix);
    } while (owners_.contains(name));
  }
  owners_[name] = node;
  scopes_[scope].push_back(name);
  return names_[node] = name;
}

const std::string& NameTable::define(const void* node, const std::string& wanted) {
  auto it = names_.find(node);
  if (it != names_.end()) {
    auto owner = owners_.find(it->second);
    if (owner != owners_.end() && owner->second == node) return it->second;
  }
  return assign(node, wanted, scopes_.size() - 1);
}

const std::string& NameTable::use(const void* node, const std::string& wanted) {
  auto it = names_.find(node);
  return it != names_.end() ? it->second : assign(node, wanted, 0);
}

}  // namespace tapml::text
