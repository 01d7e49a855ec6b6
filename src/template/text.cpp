#include "template/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>

namespace tapml::jinja {

CodePoint code_point_at(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) {
    return position + i < text.size() ? static_cast<unsigned char>(text[position + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xE0) return {((first & 0x1FU) << 6) | (byte(1) & 0x3FU), 2};
  if (first < 0xF0) {
    return {((first & 0x0FU) << 12) | ((byte(1) & 0x3FU) << 6) | (byte(2) & 0x3FU), 3};
  }
  return {((first & 0x07U) << 18) | ((byte(1) & 0x3FU) << 12) | ((byte(2) & 0x3FU) << 6) |
              (byte(3) & 0x3FU),
          4};
}

void append_code_point(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

namespace {

bool begins_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

size_t previous(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && !begins_code_point(text[end]));
  return end;
}

template <class Visit>
void each(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    visit(c.value);
    at += c.length;
  }
}

utf8proc_int32_t code(char32_t c) { return static_cast<utf8proc_int32_t>(c); }
utf8proc_category_t category(char32_t c) { return utf8proc_category(code(c)); }

bool is_alpha(char32_t c) {
  const auto kind = category(c);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}
bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL || c == 0xAA || c == 0xBA; }
bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_titled(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LT; }
bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_titled(c); }
bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }
bool is_digit(char32_t c) {
  return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 ||
         (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
         (c >= 0x2460 && c <= 0x2468);
}
bool is_numeric(char32_t c) {
  const auto kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}

void append_upper(std::string& out, char32_t c) {
  if (c == 0xDF) {
    out += "SS";
  } else {
    append_code_point(out, static_cast<char32_t>(utf8proc_toupper(code(c))));
  }
}

void append_title(std::string& out, char32_t c) {
  if (c == 0xDF) {
    out += "Ss";
  } else {
    append_code_point(out, static_cast<char32_t>(utf8proc_totitle(code(c))));
  }
}

// A sigma at the end of a word is another letter.
bool is_final_sigma(std::string_view text, size_t at) {
  bool before = false;
  for (size_t end = at; end > 0;) {
    end = previous(text, end);
    const char32_t c = code_point_at(text, end).value;
    if (category(c) == UTF8PROC_CATEGORY_MN || c == '\'' || c == '.' || c == ':') continue;
    before = is_cased(c);
    break;
  }
  if (!before) return false;
  for (size_t next = at + 2; next < text.size();) {
    const CodePoint c = code_point_at(text, next);
    next += c.length;
    if (category(c.value) == UTF8PROC_CATEGORY_MN || c.value == '\'' || c.value == '.' ||
        c.value == ':') {
      continue;
    }
    return !is_cased(c.value);
  }
  return true;
}

void append_lower(std::string& out, std::string_view text, size_t at, char32_t c) {
  if (c == 0x3A3) {
    append_code_point(out, is_final_sigma(text, at) ? 0x3C2 : 0x3C3);
  } else if (c == 0x130) {
    out += "i\u0307";
  } else {
    append_code_point(out, static_cast<char32_t>(utf8proc_tolower(code(c))));
  }
}

}  // namespace

std::optional<double> decimal_number(std::string_view text) {
  double value = 0;
#if defined(__cpp_lib_to_chars)
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end || parsed.ec != std::errc()) return std::nullopt;
#else
  // strtod also takes leading blanks, a plus and hexadecimal digits.
  if (text.empty() || text.front() == '+' || text.front() <= ' ' ||
      text.find_first_of("xX") != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string digits(text);
  char* end = nullptr;
  errno = 0;
  value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size() || errno == ERANGE) return std::nullopt;
#endif
  return value;
}

int64_t count_code_points(std::string_view text) {
  return std::ranges::count_if(text, begins_code_point);
}

size_t byte_of(std::string_view text, int64_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && !begins_code_point(text[at])) ++at;
    --index;
  }
  return at;
}

std::vector<std::string_view> split_code_points(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t length = code_point_at(text, at).length;
    parts.push_back(text.substr(at, length));
    at += length;
  }
  return parts;
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string_view strip(std::string_view text, bool left, bool right,
                       const std::string* characters) {
  const auto goes = [&](std::string_view one) {
    return characters ? characters->find(one) != std::string::npos
                      : is_space(code_point_at(one, 0).value);
  };
  while (left && !text.empty()) {
    const size_t length = code_point_at(text, 0).length;
    if (!goes(text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while (right && !text.empty()) {
    const size_t begin = previous(text, text.size());
    if (!goes(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return text;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    const bool ends = (c.value >= 10 && c.value <= 13) || (c.value >= 0x1C && c.value <= 0x1E) ||
                      c.value == 0x85 || c.value == 0x2028 || c.value == 0x2029;
    size_t next = at + c.length;
    if (c.value == '\r' && next < text.size() && text[next] == '\n') ++next;
    if (ends) {
      lines.push_back(text.substr(begin, (keep_ends ? next : at) - begin));
      begin = next;
    }
    at = next;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::vector<std::string_view> split_words(std::string_view text, int64_t most, bool from_right) {
  std::vector<std::string_view> words;
  text = from_right ? strip(text, false, true) : strip(text, true, false);
  while (!text.empty()) {
    if (most >= 0 && std::ssize(words) >= most) {
      words.push_back(from_right ? strip(text, false, true) : text);
      break;
    }
    if (from_right) {
      size_t begin = text.size();
      while (begin > 0) {
        const size_t one = previous(text, begin);
        if (is_space(code_point_at(text, one).value)) break;
        begin = one;
      }
      words.push_back(text.substr(begin));
      text = strip(text.substr(0, begin), false, true);
    } else {
      size_t end = 0;
      while (end < text.size() && !is_space(code_point_at(text, end).value)) {
        end += code_point_at(text, end).length;
      }
      words.push_back(text.substr(0, end));
      text = strip(text.substr(end), true, false);
    }
  }
  if (from_right) std::ranges::reverse(words);
  return words;
}

std::vector<std::string_view> split_by(std::string_view text, std::string_view separator,
                                       int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  while (most < 0 || std::ssize(parts) < most) {
    const size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string_view::npos) break;
    if (from_right) {
      parts.push_back(text.substr(at + separator.size()));
      text = text.substr(0, at);
    } else {
      parts.push_back(text.substr(0, at));
      text = text.substr(at + separator.size());
    }
  }
  parts.push_back(text);
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by, int64_t most,
                     size_t limit) {
  std::string out;
  int64_t done = 0;
  if (old.empty()) {
    for (const std::string_view one : split_code_points(text)) {
      if (out.size() > limit) return out;
      if (most < 0 || done < most) out += by;
      ++done;
      out += one;
    }
    if (most < 0 || done < most) out += by;
    return out;
  }
  while ((most < 0 || done < most) && out.size() <= limit) {
    const size_t at = text.find(old);
    if (at == std::string_view::npos) break;
    out += text.substr(0, at);
    out += by;
    text.remove_prefix(at + old.size());
    ++done;
  }
  out += text;
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append_lower(out, text, at, c.value);
    at += c.length;
  }
  return out;
}

std::string upper(std::string_view text) {
  std::string out;
  each(text, [&](char32_t c) { append_upper(out, c); });
  return out;
}

std::string capitalized(std::string_view text) {
  if (text.empty()) return {};
  const CodePoint first = code_point_at(text, 0);
  std::string out;
  append_title(out, first.value);
  for (size_t at = first.length; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append_lower(out, text, at, c.value);
    at += c.length;
  }
  return out;
}

std::string titled(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (inside) {
      append_lower(out, text, at, c.value);
    } else {
      append_title(out, c.value);
    }
    inside = is_cased(c.value);
    at += c.length;
  }
  return out;
}

std::string titled_words(std::string_view text) {
  std::string out;
  size_t at = 0;
  const auto separates = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  while (at < text.size()) {
    size_t end = at;
    const bool between = separates(code_point_at(text, at).value);
    while (end < text.size() && separates(code_point_at(text, end).value) == between) {
      end += code_point_at(text, end).length;
    }
    const std::string_view part = text.substr(at, end - at);
    const CodePoint first = code_point_at(part, 0);
    append_upper(out, first.value);
    out += lower(part.substr(first.length));
    at = end;
  }
  return out;
}

std::string swapped_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    if (is_upper(c.value)) {
      append_lower(out, text, at, c.value);
    } else if (is_lower(c.value)) {
      append_upper(out, c.value);
    } else {
      append_code_point(out, c.value);
    }
    at += c.length;
  }
  return out;
}

bool test_characters(std::string_view text, CharacterTest test) {
  if (test == CharacterTest::kAscii) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  }
  if (test == CharacterTest::kLower || test == CharacterTest::kUpper) {
    bool cased = false, wrong = false;
    each(text, [&](char32_t c) {
      const bool right = test == CharacterTest::kLower ? is_lower(c) : is_upper(c);
      cased |= right;
      wrong |= !right && is_cased(c);
    });
    return cased && !wrong;
  }
  if (test == CharacterTest::kTitle) {
    bool cased = false, wrong = false, inside = false;
    each(text, [&](char32_t c) {
      if (is_upper(c) || is_titled(c)) {
        wrong |= inside;
        cased = inside = true;
      } else if (is_lower(c)) {
        wrong |= !inside;
        cased = inside = true;
      } else {
        inside = false;
      }
    });
    return cased && !wrong;
  }
  bool all = !text.empty();
  each(text, [&](char32_t c) {
    switch (test) {
      case CharacterTest::kAlpha:
        all &= is_alpha(c);
        break;
      case CharacterTest::kDigit:
        all &= is_digit(c);
        break;
      case CharacterTest::kDecimal:
        all &= is_decimal(c);
        break;
      case CharacterTest::kNumeric:
        all &= is_numeric(c);
        break;
      case CharacterTest::kAlnum:
        all &= is_alpha(c) || is_numeric(c);
        break;
      default:
        all &= is_space(c);
        break;
    }
  });
  return all;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

namespace {

void append_hex(std::string& out, const char* prefix, int digits, char32_t c) {
  out += prefix;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(c >> shift) & 15];
  }
}

bool is_printable(char32_t c) {
  if (c == ' ') return true;
  const auto kind = category(c);
  return kind != UTF8PROC_CATEGORY_CN && kind < UTF8PROC_CATEGORY_ZS;
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  const bool single = text.find('\'') == text.npos || text.find('"') != text.npos;
  const char quote = single ? '\'' : '"';
  out += quote;
  each(text, [&](char32_t c) {
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      append_code_point(out, c);
    } else if (c < 0x100) {
      append_hex(out, "\\x", 2, c);
    } else if (c < 0x10000) {
      append_hex(out, "\\u", 4, c);
    } else {
      append_hex(out, "\\U", 8, c);
    }
  });
  out += quote;
}

}  // namespace tapml::jinja
