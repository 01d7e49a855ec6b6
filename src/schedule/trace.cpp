#include "schedule/trace.h"

#include <cctype>
#include <charconv>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::schedule {

bool Instruction::operator==(const Instruction& other) const {
  return results == other.results && op == other.op && operands == other.operands &&
         values == other.values && attributes == other.attributes;
}

namespace {

std::string in_quotes(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? 'n' : c;
    if (c == '\n') result.insert(result.size() - 1, 1, '\\');
  }
  return result + '"';
}

std::string to_text(const TraceValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return in_quotes(*text);
  return "[" +
         join(std::get<Factors>(value),
              [](const std::optional<int64_t>& factor) {
                return factor ? std::to_string(*factor) : "?";
              }) +
         "]";
}

std::string to_text(const Instruction& instruction) {
  std::string text;
  for (const std::string& name : instruction.results) text += (text.empty() ? "%" : ", %") + name;
  if (!text.empty()) text += " = ";
  text += instruction.op + "(";
  bool first = true;
  auto item = [&](const std::string& part) {
    text += (first ? "" : ", ") + part;
    first = false;
  };
  for (const std::string& name : instruction.operands) item("%" + name);
  for (const TraceValue& value : instruction.values) item(to_text(value));
  for (const auto& [name, value] : instruction.attributes) item(name + "=" + to_text(value));
  return text + ")";
}

// Reads one line after another.
class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Trace run() {
    Trace trace;
    while (true) {
      skip_lines();
      if (at_ == text_.size()) return trace;
      trace.instructions.push_back(instruction());
      blanks();
      if (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '#')
        fail("the end of the line");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& expected) {
    size_t start = text_.substr(0, at_).rfind('\n');
    size_t column = at_ - (start == std::string_view::npos ? 0 : start + 1) + 1;
    std::string found = "the end";
    if (at_ < text_.size()) {
      found = text_[at_] == '\n' ? "the end of the line" : "'" + std::string(1, text_[at_]) + "'";
    }
    throw_user("the trace cannot be read",
               file_ + ":" + std::to_string(line_) + ":" + std::to_string(column), expected, found);
  }

  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  void skip_lines() {
    while (true) {
      blanks();
      if (at_ < text_.size() && text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      }
      if (at_ == text_.size() || text_[at_] != '\n') return;
      ++at_;
      ++line_;
    }
  }
  bool accept(char c) {
    blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("'" + std::string(1, c) + "'");
  }
  bool peek(char c) {
    blanks();
    return at_ < text_.size() && text_[at_] == c;
  }

  static bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }
  std::string word(const char* what) {
    blanks();
    size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    if (at_ == begin) fail(what);
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string name() {
    expect('%');
    return word("a name");
  }
  int64_t number() {
    blanks();
    int64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("an integer of 64 bits");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  std::string string() {
    expect('"');
    std::string result;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      char c = text_[at_++];
      if (c == '\\') {
        if (at_ == text_.size()) break;
        c = text_[at_] == 'n' ? '\n' : text_[at_];
        ++at_;
      }
      result += c;
    }
    if (at_ == text_.size() || text_[at_] != '"') fail("'\"'");
    ++at_;
    return result;
  }
  TraceValue value() {
    if (peek('"')) return string();
    if (!accept('[')) return number();
    Factors factors;
    while (!accept(']')) {
      if (accept('?')) {
        factors.emplace_back();
      } else {
        factors.emplace_back(number());
      }
      if (!peek(']')) expect(',');
    }
    return factors;
  }

  Instruction instruction() {
    Instruction result;
    result.line = line_;
    if (peek('%')) {
      do {
        result.results.push_back(name());
      } while (accept(','));
      expect('=');
    }
    result.op = word("an instruction");
    expect('(');
    while (!accept(')')) {
      if (peek('%')) {
        if (!result.values.empty() || !result.attributes.empty()) fail("a value");
        result.operands.push_back(name());
      } else if (peek('"') || peek('[') || peek('-') ||
                 (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])))) {
        if (!result.attributes.empty()) fail("name=value");
        result.values.push_back(value());
      } else {
        std::string key = word("%name, a value or name=value");
        expect('=');
        result.attributes.emplace_back(key, value());
      }
      if (!peek(')')) expect(',');
    }
    return result;
  }

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0;
  int64_t line_ = 1;
};

}  // namespace

std::string Trace::print() const {
  std::string text;
  for (const Instruction& instruction : instructions) text += to_text(instruction) + "\n";
  return text;
}

Trace Trace::parse(std::string_view text, const std::string& file_name) {
  return Reader(text, file_name).run();
}

}  // namespace tapml::schedule
