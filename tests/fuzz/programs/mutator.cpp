#include "mutator.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace tapml::fuzz_programs {

namespace {

bool is_word(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) || token[0] == '_';
}
bool is_number(const std::string& token) {
  return std::isdigit(static_cast<unsigned char>(token[0])) != 0;
}
bool is_blank(const std::string& token) {
  return std::isspace(static_cast<unsigned char>(token[0])) || token[0] == '#';
}

const std::vector<std::string> kDTypes = {"bool", "i8",  "i16", "i32",  "i64", "u8", "u16",
                                          "u32",  "u64", "f16", "bf16", "f32", "f64"};
const std::vector<std::string> kScalarOperators = {"+", "-",  "*", "/",  "//",
                                                   "%", "==", "<", "<=", "!="};
const std::vector<std::string> kWords = {"module",
                                         "def",
                                         "prim",
                                         "impure",
                                         "return",
                                         "yield",
                                         "output",
                                         "dataflow",
                                         "if",
                                         "else",
                                         "for",
                                         "while",
                                         "in",
                                         "range",
                                         "match_cast",
                                         "op",
                                         "extern",
                                         "shape",
                                         "const",
                                         "block",
                                         "where",
                                         "reads",
                                         "writes",
                                         "init",
                                         "alloc",
                                         "serial",
                                         "parallel",
                                         "vectorized",
                                         "unrolled",
                                         "thread",
                                         "barrier",
                                         "let",
                                         "select",
                                         "cast",
                                         "spatial",
                                         "reduce",
                                         "call_tir",
                                         "Tensor()",
                                         "Object",
                                         "true",
                                         "workgroup",
                                         "call_tir_inplace",
                                         "ndim",
                                         "inout",
                                         "out",
                                         "shared",
                                         "local",
                                         "workspace",
                                         "prepared",
                                         "min",
                                         "max",
                                         "isnan",
                                         "nan",
                                         "inf",
                                         "@origin(\"a\")",
                                         "@lines(\"b\")"};
const std::set<std::string> kAnnotationWords = {"Object", "Tensor", "Shape",
                                                "Prim",   "Tuple",  "Callable"};

}  // namespace

Mutator::Tokens Mutator::split(const std::string& text) {
  Tokens tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    const auto at = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    if (std::isalnum(at(i)) || text[i] == '_') {
      while (end < text.size() && (std::isalnum(at(end)) || text[end] == '_' || text[end] == '.'))
        ++end;
    } else if (std::isspace(at(i))) {
      while (end < text.size() && std::isspace(at(end))) ++end;
    } else if (text[i] == '"' || text[i] == '`') {
      while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else if (text[i] == '#') {
      while (end < text.size() && text[end] != '\n') ++end;
    } else if (end < text.size() &&
               (text.compare(i, 2, "//") == 0 || text.compare(i, 2, "->") == 0 ||
                text.compare(i, 2, "==") == 0 || text.compare(i, 2, "<=") == 0)) {
      ++end;
    }
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

std::string Mutator::join(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::vector<std::string> Mutator::lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find('\n', begin);
    end = end == std::string::npos ? text.size() : end + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

template <class F>
std::vector<size_t> Mutator::places(const Tokens& tokens, F fits) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (fits(tokens[i])) found.push_back(i);
  }
  return found;
}

std::vector<Mutator::Span> Mutator::groups(const Tokens& tokens) {
  std::vector<Span> found;
  std::vector<size_t> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const char c = tokens[i][0];
    if (c == '(' || c == '[' || c == '{') open.push_back(i);
    if ((c == ')' || c == ']' || c == '}') && !open.empty()) {
      found.push_back({open.back(), i + 1});
      open.pop_back();
    }
  }
  return found;
}

std::vector<Mutator::Span> Mutator::annotations(const Tokens& tokens) {
  std::vector<Span> found;
  const std::vector<Span> brackets = groups(tokens);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!kAnnotationWords.contains(tokens[i])) continue;
    size_t end = i + 1;
    for (const Span& group : brackets) {
      if (group.begin == i + 1) end = group.end;
    }
    found.push_back({i, end});
  }
  return found;
}

std::vector<Mutator::Span> Mutator::elements(const Tokens& tokens, Span group) {
  std::vector<Span> found;
  int depth = 0;
  size_t begin = group.begin + 1;
  for (size_t i = begin; i + 1 < group.end; ++i) {
    const char c = tokens[i][0];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (c == ',' && depth == 0) {
      found.push_back({begin, i});
      begin = i + 1;
    }
  }
  if (begin + 1 < group.end) found.push_back({begin, group.end - 1});
  return found;
}

// Splits the text at functions; the first part includes whatever precedes the first function.
std::vector<std::string> Mutator::functions(const std::string& text) {
  std::vector<std::string> parts = {""};
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("def ") || line.starts_with("impure ") || line.starts_with("prim ")) {
      parts.emplace_back();
    }
    parts.back() += line;
  }
  return parts;
}

std::string Mutator::random_integer() {
  static const std::vector<std::string> kIntegers = {
      "0",    "1",   "2",          "3",          "4",
      "5",    "7",   "8",          "16",         "64",
      "100",  "255", "1000",       "4096",       "65536",
      "-1",   "-2",  "2147483647", "2147483648", "4294967296",
      "n",    "m",   "(n - 1)",    "n*m",        "9223372036854775807",
      "n//0", "n%0", "n//m",       "1000000000", "9223372036854775808"};
  return pick(kIntegers);
}

std::string Mutator::random_annotation(int depth) {
  const auto dims = [&] {
    std::string list = "(";
    for (uint32_t i = below(4); i > 0; --i) list += random_integer() + ",";
    return list + ")";
  };
  switch (below(depth > 0 ? 11 : 8)) {
    case 0:
      return "Object";
    case 1:
      return "Prim(" + pick(kDTypes) + ")";
    case 2:
      return "Prim(i64, " + random_integer() + ")";
    case 3:
      return "Shape(" + dims() + ")";
    case 4:
      return "Shape(ndim=" + std::to_string(below(4)) + ")";
    case 5:
      return "Tensor(ndim=" + std::to_string(below(4)) + ", " + pick(kDTypes) + ")";
    case 6:
      return "Tensor(" + dims() + ")";
    case 8:
      return "Tuple(" + random_annotation(depth - 1) + ", " + random_annotation(depth - 1) + ")";
    case 9:
      return "Callable((" + random_annotation(depth - 1) + ",), " + random_annotation(depth - 1) +
             (below(2) ? ")" : ", impure)");
    default:
      return "Tensor(" + dims() + ", " + pick(kDTypes) + ")";
  }
}

bool Mutator::change_token(Tokens& tokens) {
  const std::vector<size_t> all = places(tokens, [](const auto& t) { return !is_blank(t); });
  if (all.empty()) return false;
  const size_t at = pick(all);
  switch (below(6)) {
    case 0:
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens[at] + " ");
      break;
    case 2:
      std::swap(tokens[at], tokens[pick(all)]);
      break;
    case 3:
      tokens[at] = pick(kWords);
      break;
    case 4:
      tokens[at] = " " + pick(kWords) + " " + tokens[at];
      break;
    default:
      tokens[at] = tokens[pick(all)];
  }
  return true;
}

bool Mutator::change_name(Tokens& tokens) {
  const std::vector<size_t> names = places(tokens, is_word);
  if (names.empty()) return false;
  const size_t at = pick(names);
  const std::string name = tokens[at];
  switch (below(6)) {
    case 0: {  // everywhere
      std::string other = tokens[pick(names)];
      if (below(8) == 0) other = "`" + other + " '\n`";
      if (below(8) == 0) other = std::string(1 + below(3000), 'a');
      for (size_t i : names) {
        if (tokens[i] == name) tokens[i] = other;
      }
      return true;
    }
    case 1: {  // replaces an operator
      std::vector<size_t> called;
      for (size_t i : names) {
        if (std::find(operators_.begin(), operators_.end(), tokens[i]) != operators_.end()) {
          called.push_back(i);
        }
      }
      if (called.empty()) return false;
      tokens[pick(called)] = pick(operators_);
      return true;
    }
    case 2: {
      const std::vector<size_t> types = places(tokens, [](const auto& t) {
        return std::find(kDTypes.begin(), kDTypes.end(), t) != kDTypes.end();
      });
      if (types.empty()) return false;
      tokens[pick(types)] = pick(kDTypes);
      return true;
    }
    default:
      tokens[at] = tokens[pick(names)];
      return true;
  }
}

bool Mutator::change_number(Tokens& tokens) {
  const bool operators = below(4) == 0;
  const std::vector<size_t> found = places(tokens, [&](const std::string& token) {
    if (!operators) return is_number(token);
    return std::find(kScalarOperators.begin(), kScalarOperators.end(), token) !=
           kScalarOperators.end();
  });
  if (found.empty()) return false;
  std::string& token = tokens[pick(found)];
  static const std::vector<std::string> kFloats = {"0.0",  "-0.0", "inf",   "-inf",  "nan",
                                                   "1e30", "0.5",  "1e-30", "1e400", "3.5"};
  if (operators) {
    token = pick(kScalarOperators);
  } else if (token.find('.') != std::string::npos) {
    token = pick(kFloats);
  } else {
    token = random_integer();
  }
  return true;
}

bool Mutator::change_annotation(Tokens& tokens) {
  const std::vector<Span> found = annotations(tokens);
  if (found.empty()) return false;
  const Span at = pick(found), other = pick(found);
  std::string text;
  switch (below(5)) {
    case 0:
      text = random_annotation(2);
      break;
    case 1:
      text = "Tuple(";
      for (size_t i = at.begin; i < at.end; ++i) text += tokens[i];
      text += "," + random_annotation(1) + ")";
      break;
    case 2:
      text = "Object";
      break;
    default:
      for (size_t i = other.begin; i < other.end; ++i) text += tokens[i];
  }
  const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(at.begin);
  tokens.erase(begin, tokens.begin() + static_cast<std::ptrdiff_t>(at.end));
  tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at.begin), text);
  return true;
}

bool Mutator::change_list(Tokens& tokens) {
  const std::vector<Span> found = groups(tokens);
  if (found.empty()) return false;
  const Span group = pick(found);
  const std::vector<Span> parts = elements(tokens, group);
  if (parts.empty()) return false;
  const auto text_of = [&](Span span) {
    std::string text;
    for (size_t i = span.begin; i < span.end; ++i) text += tokens[i];
    return text;
  };
  std::vector<std::string> list;
  for (const Span& part : parts) list.push_back(text_of(part));
  const size_t at = below(list.size());
  switch (below(4)) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), std::string(list[at]));
      break;
    case 2:
      std::swap(list[at], list[below(list.size())]);
      break;
    default: {
      const Span from = pick(found);
      const std::vector<Span> others = elements(tokens, from);
      if (!others.empty()) list[at] = text_of(pick(others));
    }
  }
  std::string text = tokens[group.begin];
  for (const std::string& part : list) text += part + ",";
  if (!list.empty() && list.size() > 1) text.pop_back();
  text += tokens[group.end - 1];
  tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(group.begin),
               tokens.begin() + static_cast<std::ptrdiff_t>(group.end));
  tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(group.begin), text);
  return true;
}

bool Mutator::change_group(Tokens& tokens) {
  const std::vector<Span> found = groups(tokens);
  if (found.size() < 2) return false;
  const Span at = pick(found), other = pick(found);
  if (tokens[at.begin] != tokens[other.begin]) return false;
  Tokens replacement(tokens.begin() + static_cast<std::ptrdiff_t>(other.begin),
                     tokens.begin() + static_cast<std::ptrdiff_t>(other.end));
  if (below(4) == 0) replacement = {tokens[at.begin], tokens[at.end - 1]};
  tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at.begin),
               tokens.begin() + static_cast<std::ptrdiff_t>(at.end));
  tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at.begin), replacement.begin(),
                replacement.end());
  return true;
}

bool Mutator::nest(Tokens& tokens) {
  const uint32_t depth = below(8) == 0 ? 900 + below(300) : 2 + below(30);
  std::string open, close;
  if (below(2)) {
    const std::vector<Span> found = annotations(tokens);
    if (found.empty()) return false;
    const Span at = pick(found);
    for (uint32_t i = 0; i < depth; ++i) open += "Tuple(", close += ")";
    tokens[at.begin] = open + tokens[at.begin];
    tokens[at.end - 1] += close;
    return true;
  }
  const std::vector<size_t> names =
      places(tokens, [](const auto& t) { return is_word(t) || is_number(t); });
  if (names.empty()) return false;
  std::string& token = tokens[pick(names)];
  static const std::vector<std::string> kOpen = {"(",       "(1 + ", "(2*",
                                                 "min(1, ", "not(",  "if (true) {"};
  const std::string& one = pick(kOpen);
  for (uint32_t i = 0; i < depth; ++i) open += one, close += one.back() == '{' ? "}" : ")";
  token = open + token + close;
  return true;
}

std::string Mutator::change_lines(const std::string& text) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.size() < 3) return text;
  const auto at = static_cast<std::ptrdiff_t>(below(lines.size()));
  const auto other = static_cast<std::ptrdiff_t>(below(lines.size()));
  switch (below(6)) {
    case 0:
      lines.erase(lines.begin() + at);
      break;
    case 1:
      lines.insert(lines.begin() + other, std::string(lines[static_cast<size_t>(at)]));
      break;
    case 2: {
      std::string line = lines[static_cast<size_t>(at)];
      lines.erase(lines.begin() + at);
      lines.insert(lines.begin() +
                       std::min<std::ptrdiff_t>(other, static_cast<std::ptrdiff_t>(lines.size())),
                   line);
      break;
    }
    case 3:
      lines.insert(lines.begin() + std::max(at, other), "}\n");
      lines.insert(lines.begin() + std::min(at, other), "dataflow {\n");
      break;
    case 4: {
      const std::string name = "branch" + std::to_string(below(4));
      lines.insert(lines.begin() + std::max(at, other), "yield (" + name + ",) }\n");
      lines.insert(lines.begin() + std::min(at, other),
                   name + ": Object = if (prim(1 < 2)) { yield (x,) } else {\n");
      break;
    }
    default:
      std::swap(lines[static_cast<size_t>(at)], lines[static_cast<size_t>(other)]);
  }
  std::string result;
  for (const std::string& line : lines) result += line;
  return result;
}

std::string Mutator::change_functions(const std::string& text) {
  std::vector<std::string> parts = functions(text);
  if (parts.size() < 2) return text;
  const size_t at = 1 + below(parts.size() - 1);
  if (below(2)) {
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    std::string copy = parts[at];
    const size_t name = copy.find("def ") == std::string::npos ? 0 : copy.find("def ") + 4;
    parts.push_back(copy.insert(name, "a"));
  }
  std::string result;
  for (const std::string& part : parts) result += part;
  return result;
}

std::string Mutator::passes_line() {
  std::vector<std::string> list;
  const uint32_t kind = below(4);
  for (const std::string& pass : passes_) {
    if (kind == 0 || below(2)) list.push_back(pass);
  }
  if (kind == 3) {
    std::shuffle(list.begin(), list.end(), random_);
    if (!list.empty() && below(2)) list.push_back(pick(list));
    if (list.size() > 4 && below(2)) list.resize(4);
  }
  std::string line = kPassesLine;
  for (size_t i = 0; i < list.size(); ++i) line += (i ? "," : "") + list[i];
  return line + "\n";
}

std::string Mutator::change_passes(const std::string& text) {
  const size_t end = text.starts_with(kPassesLine) ? text.find('\n') : std::string::npos;
  return passes_line() + (text.starts_with(kPassesLine)
                              ? (end == std::string::npos ? "" : text.substr(end + 1))
                              : text);
}

std::string Mutator::mutate(std::string text) {
  for (uint32_t changes = 1 + below(4); changes > 0; --changes) {
    Tokens tokens = split(text);
    bool (Mutator::*change)(Tokens&) = nullptr;
    switch (below(16)) {
      case 0:
        change = &Mutator::change_token;
        break;
      case 1:
      case 2:
      case 3:
        change = &Mutator::change_name;
        break;
      case 4:
      case 5:
        change = &Mutator::change_number;
        break;
      case 6:
      case 7:
        change = &Mutator::change_annotation;
        break;
      case 8:
      case 9:
        change = &Mutator::change_list;
        break;
      case 10:
        change = &Mutator::change_group;
        break;
      case 11:
        if (below(4) == 0) change = &Mutator::nest;
        break;
      case 12:
        text = change_functions(text);
        break;
      case 13:
        text = change_passes(text);
        break;
      default:
        text = change_lines(text);
    }
    if (change && (this->*change)(tokens)) text = join(tokens);
  }
  return text;
}

std::string Mutator::cross(const std::string& text, const std::string& other) {
  switch (below(3)) {
    case 0: {
      const std::vector<std::string> parts = functions(other);
      return parts.size() < 2 ? text : text + "\n" + parts[1 + below(parts.size() - 1)];
    }
    case 1: {
      std::vector<std::string> lines = lines_of(text), others = lines_of(other);
      if (lines.empty() || others.empty()) return text;
      lines.insert(lines.begin() + below(lines.size()), pick(others));
      std::string result;
      for (const std::string& line : lines) result += line;
      return result;
    }
    default: {
      Tokens tokens = split(text), source = split(other);
      const std::vector<Span> to = groups(tokens), from = groups(source);
      if (to.empty() || from.empty()) return text;
      const Span at = pick(to), taken = pick(from);
      if (tokens[at.begin] != source[taken.begin]) return text;
      tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at.begin),
                   tokens.begin() + static_cast<std::ptrdiff_t>(at.end));
      tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(at.begin),
                    source.begin() + static_cast<std::ptrdiff_t>(taken.begin),
                    source.begin() + static_cast<std::ptrdiff_t>(taken.end));
      return join(tokens);
    }
  }
}

}  // namespace tapml::fuzz_programs
