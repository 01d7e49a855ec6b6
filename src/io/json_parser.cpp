// The JSON parser (RFC 8259). It keeps the open arrays and objects on an explicit stack, because
// call depth is scarce in WebAssembly.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/strings.h"
#include "io/json.h"

namespace tapml {

namespace {

constexpr int kDeepest = 1000;

struct Position {
  int32_t line;
  int32_t column;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// ASCII that needs no escape in a string.
bool is_plain(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Correctly rounded value of a JSON number; infinity if it is too large.
double to_double(std::string_view token) {
#if defined(__cpp_lib_to_chars)
  double value = 0;
  auto end = token.data() + token.size();
  if (std::from_chars(token.data(), end, value).ec == std::errc()) return value;
#endif
  // Without from_chars, or if it reports a range error without saying in which direction.
  return std::strtod(std::string(token).c_str(), nullptr);
}

}  // namespace

class JsonParser {
 public:
  JsonParser(std::string_view text, std::string_view source, JsonLimits limits)
      : text_(text), source_(source), limits_(limits) {
    limits_.max_depth = std::min(limits_.max_depth, kDeepest);
  }

  Result<Json> document() {
    if (text_.starts_with("\xef\xbb\xbf")) {  // a byte order mark is not part of the text
      position_ = line_start_ = 3;
    }
    skip_space();
    // Each iteration reads the beginning of one value.
    Json value;
    for (bool complete = false; !complete;) {
      TAPML_ASSIGN(bool opened, begin_value(value));
      if (!opened) {
        TAPML_ASSIGN(complete, end_values(value));
      }
    }
    skip_space();
    if (position_ < text_.size()) return fail(expected("the end of the file"));
    return value;
  }

 private:
  Position here() const {
    return {line_, static_cast<int32_t>(position_ - line_start_ - continuation_bytes_) + 1};
  }

  std::string place(Position at) const {
    return std::string(source_) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
  }

  std::string found() const {
    if (position_ >= text_.size()) return "the end of the file";
    size_t length = std::max<size_t>(1, utf8_sequence_length(text_, position_));
    return in_quotes(text_.substr(position_, length));
  }

  Error syntax_error(std::string expectation, std::string what, Position at) const {
    return user_error(std::string(source_) + " is not valid JSON", place(at),
                      std::move(expectation), std::move(what));
  }

  Error expected(std::string expectation) const {
    return syntax_error(std::move(expectation), found(), here());
  }

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }

  void skip_space() {
    for (; position_ < text_.size(); ++position_) {
      char c = text_[position_];
      if (c == '\n') {
        ++line_;
        line_start_ = position_ + 1;
        continuation_bytes_ = 0;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  // An array or object that is not complete yet.
  struct Level {
    Level() : is_object(false), at() {}
    bool is_object;
    Position at;
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> members;  // the last one lacks its value
    std::vector<Position> key_positions;
  };

  static void set_position(Json& value, Position at) {
    value.line_ = at.line;
    value.column_ = at.column;
  }

  // Reads a scalar or an empty array or object into `out` (returns false), or opens a level
  // (returns true) and stops before its first value.
  Result<bool> begin_value(Json& out) {
    Position at = here();
    if (++values_ > limits_.max_values) {
      return fail(user_error(std::string(source_) + " has too many values", place(at),
                             "at most " + std::to_string(limits_.max_values) + " values"));
    }
    char c = peek();
    if (c != '{' && c != '[') {
      TAPML_TRY(parse_scalar(out));
      set_position(out, at);
      return false;
    }
    if (levels_.size() >= static_cast<size_t>(std::max(limits_.max_depth, 0))) {
      return fail(user_error(
          std::string(source_) + " is nested too deeply", place(at),
          "at most " + std::to_string(limits_.max_depth) + " levels of arrays and objects"));
    }
    bool is_object = c == '{';
    ++position_;
    skip_space();
    if (peek() == (is_object ? '}' : ']')) {
      ++position_;
      out = is_object ? Json::object() : Json::array();
      set_position(out, at);
      return false;
    }
    Level& level = levels_.emplace_back();
    level.is_object = is_object;
    level.at = at;
    if (is_object) {
      TAPML_TRY(parse_key(level, "a key in double quotes or '}'"));
    }
    return true;
  }

  // Adds a complete value to its parent and closes the levels that end after it. True if the
  // document's value is complete (then in `value`), false if another value follows.
  Result<bool> end_values(Json& value) {
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.is_object) {
        level.members.back().second = std::move(value);
      } else {
        level.items.push_back(std::move(value));
      }
      skip_space();
      char c = peek();
      if (c == ',') {
        ++position_;
        skip_space();
        if (level.is_object) {
          TAPML_TRY(parse_key(level, "a key in double quotes"));
        }
        return false;
      }
      if (c != (level.is_object ? '}' : ']')) {
        return fail(expected(level.is_object ? "',' or '}'" : "',' or ']'"));
      }
      ++position_;
      if (level.is_object) {
        TAPML_TRY(check_unique(level.members, level.key_positions));
        value = Json::object(std::move(level.members));
      } else {
        value = Json::array(std::move(level.items));
      }
      set_position(value, level.at);
      levels_.pop_back();
    }
    return true;
  }

  // Parses the key and the colon, and stops before the value.
  Status parse_key(Level& level, const char* expectation) {
    if (peek() != '"') return fail(expected(expectation));
    level.key_positions.push_back(here());
    TAPML_TRY(parse_string(level.members.emplace_back(std::string(), Json()).first));
    skip_space();
    if (peek() != ':') return fail(expected("':'"));
    ++position_;
    skip_space();
    return {};
  }

  Status parse_scalar(Json& out) {
    switch (peek()) {
      case '"': {
        std::string text;
        TAPML_TRY(parse_string(text));
        out = Json::string(std::move(text));
        return {};
      }
      case 't':
        TAPML_TRY(parse_word("true"));
        out = Json::boolean(true);
        return {};
      case 'f':
        TAPML_TRY(parse_word("false"));
        out = Json::boolean(false);
        return {};
      case 'n':
        TAPML_TRY(parse_word("null"));
        out = Json::null();
        return {};
      default:
        return parse_number(out);
    }
  }

  Status parse_word(std::string_view word) {
    if (text_.substr(position_, word.size()) != word) return fail(expected(std::string(word)));
    position_ += word.size();
    return {};
  }

  // Sorting keeps objects of a hundred thousand keys (vocabularies) fast.
  Status check_unique(const std::vector<std::pair<std::string, Json>>& members,
                      const std::vector<Position>& key_positions) const {
    std::vector<uint32_t> order(members.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      int compared = members[a].first.compare(members[b].first);
      return compared != 0 ? compared < 0 : a < b;
    });
    for (size_t i = 1; i < order.size(); ++i) {
      const std::string& key = members[order[i]].first;
      if (key != members[order[i - 1]].first) continue;
      return fail(user_error(std::string(source_) + " has the key " + in_quotes(key) + " twice",
                             place(key_positions[order[i]]), "each key once in an object",
                             "the first at " + place(key_positions[order[i - 1]])));
    }
    return {};
  }

  Status parse_string(std::string& out) {
    ++position_;
    while (true) {
      size_t run = position_;
      while (run < text_.size() && is_plain(text_[run])) ++run;
      out.append(text_, position_, run - position_);
      position_ = run;
      if (position_ >= text_.size()) return fail(expected("'\"' at the end of the string"));
      auto c = static_cast<unsigned char>(text_[position_]);
      if (c == '"') {
        ++position_;
        return {};
      }
      if (c == '\\') {
        TAPML_TRY(parse_escape(out));
      } else if (c < 0x20) {
        return fail(expected("an escape in place of a control character"));
      } else {
        size_t length = utf8_sequence_length(text_, position_);
        if (length == 0) return fail(expected("valid UTF-8"));
        out.append(text_, position_, length);
        position_ += length;
        continuation_bytes_ += length - 1;
      }
    }
  }

  Status parse_escape(std::string& out) {
    Position at = here();
    ++position_;
    char c = peek();
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out += c;
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        ++position_;
        TAPML_ASSIGN(uint32_t code, parse_hex4());
        if (code >= 0xd800 && code < 0xdc00 && text_.substr(position_, 2) == "\\u") {
          position_ += 2;
          TAPML_ASSIGN(uint32_t low, parse_hex4());
          if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          }
        }
        if (code >= 0xd800 && code <= 0xdfff) {
          return fail(syntax_error("a surrogate pair such as \\ud83d\\ude00", "half of one", at));
        }
        append_utf8(out, code);
        return {};
      }
      default:
        return fail(expected("one of \" \\ / b f n r t u after '\\'"));
    }
    ++position_;
    return {};
  }

  Result<uint32_t> parse_hex4() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++position_) {
      char c = peek();
      uint32_t digit = 0;
      if (is_digit(c)) {
        digit = static_cast<uint32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<uint32_t>(c - 'a') + 10;
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<uint32_t>(c - 'A') + 10;
      } else {
        return fail(expected("four hexadecimal digits after \\u"));
      }
      code = code * 16 + digit;
    }
    return code;
  }

  Status parse_number(Json& out) {
    Position at = here();
    size_t begin = position_;
    if (peek() == '-') ++position_;
    if (limits_.infinities && peek() == 'I') {
      TAPML_TRY(parse_word("Infinity"));
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      out = Json::number(text_[begin] == '-' ? -kInfinity : kInfinity);
      return {};
    }
    if (!is_digit(peek())) {
      return fail(expected(position_ == begin ? "a value" : "a digit after '-'"));
    }
    bool leading_zero = peek() == '0';
    size_t digits = position_;
    skip_digits();
    if (leading_zero && position_ > digits + 1) {
      return fail(syntax_error("a number without leading zeros",
                               in_quotes(text_.substr(begin, position_ - begin), 40), at));
    }
    bool integral = true;
    if (peek() == '.') {
      integral = false;
      ++position_;
      if (!is_digit(peek())) return fail(expected("a digit after '.'"));
      skip_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      integral = false;
      ++position_;
      if (peek() == '+' || peek() == '-') ++position_;
      if (!is_digit(peek())) return fail(expected("a digit in the exponent"));
      skip_digits();
    }
    std::string_view token = text_.substr(begin, position_ - begin);
    int64_t integer = 0;
    if (integral &&
        std::from_chars(token.data(), token.data() + token.size(), integer).ec == std::errc()) {
      out = Json::integer(integer);
      return {};
    }
    double value = to_double(token);
    if (!std::isfinite(value)) {
      return fail(user_error(std::string(source_) + " has a number that is too large", place(at),
                             "at most 1.8e308 in magnitude", in_quotes(token, 40)));
    }
    out = Json::number(value);
    return {};
  }

  void skip_digits() {
    while (is_digit(peek())) ++position_;
  }

  std::string_view text_;
  std::string_view source_;
  JsonLimits limits_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  size_t continuation_bytes_ = 0;  // on this line; columns count characters
  int32_t line_ = 1;
  size_t values_ = 0;
  std::vector<Level> levels_;
};

Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits) {
  return JsonParser(text, source, limits).document();
}

}  // namespace tapml
