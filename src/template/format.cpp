// Python's formatting of values: `format % values`, str.format(), and JSON.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/strings.h"
#include "template/renderer.h"
#include "template/text.h"

namespace tapml::jinja {

namespace {

struct Spec {
  std::string fill = " ";
  char align = 0, sign = '-', grouping = 0, type = 0;
  bool alternative = false, zero = false;
  int64_t width = 0, precision = -1;
};

constexpr int64_t kMostWidth = 10'000;

size_t read_number(std::string_view text, size_t at, int64_t& value) {
  value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = std::min(value * 10 + (text[at++] - '0'), kMostWidth + 1);
  }
  return at;
}

std::string with_grouping(std::string digits, char grouping) {
  if (!grouping) return digits;
  const size_t point = std::min(digits.find('.'), digits.size());
  for (size_t at = point; at > 3;) {
    at -= 3;
    digits.insert(at, 1, grouping);
  }
  return digits;
}

// The digits of a magnitude.
std::string digits_of(double value, const Spec& spec) {
  const char type = spec.type ? spec.type : 'f';
  const int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
  const std::array<char, 6> format = {'%', '.', '*', type == '%' ? 'f' : type, 0, 0};
  std::array<char, 512 + kMostWidth> buffer;
  const int size = std::snprintf(buffer.data(), buffer.size(), format.data(), precision,
                                 type == '%' ? 100 * value : value);
  return std::string(buffer.data(), static_cast<size_t>(std::max(size, 0))) +
         (type == '%' ? "%" : "");
}

std::string digits_of(uint64_t value, const Spec& spec) {
  const int base = spec.type == 'x' || spec.type == 'X' ? 16
                   : spec.type == 'o'                   ? 8
                   : spec.type == 'b'                   ? 2
                                                        : 10;
  std::array<char, 72> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base).ptr;
  std::string digits(buffer.data(), end);
  if (spec.type == 'X') digits = upper(digits);
  if (spec.alternative && base != 10) {
    digits = std::string("0") + static_cast<char>(spec.type) + digits;
  }
  return digits;
}

std::string aligned(const std::string& sign, const std::string& text, const Spec& spec,
                    char fallback) {
  const int64_t room =
      std::max<int64_t>(0, spec.width - count_code_points(sign) - count_code_points(text));
  const char align = spec.align ? spec.align : fallback;
  const int64_t left = align == '<' ? 0 : align == '^' ? room / 2 : room;
  std::string before, after;
  for (int64_t i = 0; i < left; ++i) before += spec.fill;
  for (int64_t i = left; i < room; ++i) after += spec.fill;
  if (align == '=') return sign + before + text + after;
  return before + sign + text + after;
}

// [[fill]align][sign][#][0][width][,][.precision][type]; false: something else.
bool read_spec(std::string_view text, Spec& spec) {
  size_t at = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!text.empty()) {
    const size_t first = code_point_at(text, 0).length;
    if (first < text.size() && is_align(text[first])) {
      spec.fill = std::string(text.substr(0, first));
      spec.align = text[first];
      at = first + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  const auto here = [&](std::string_view choices) {
    return at < text.size() && choices.find(text[at]) != choices.npos;
  };
  if (here("+- ")) spec.sign = text[at++];
  if (here("#")) {
    spec.alternative = true;
    ++at;
  }
  if (here("0")) {
    spec.zero = true;
    if (!spec.align) {
      spec.fill = "0";
      spec.align = '=';
    }
    ++at;
  }
  at = read_number(text, at, spec.width);
  if (here(",_")) spec.grouping = text[at++];
  if (here(".")) at = read_number(text, at + 1, spec.precision);
  if (at < text.size()) spec.type = text[at++];
  return at == text.size() && spec.width <= kMostWidth && spec.precision <= kMostWidth;
}

std::string sign_of(bool negative, char sign) {
  return negative ? "-" : sign == '-' ? "" : std::string(1, sign);
}

std::string formatted_number(const Value& value, const Spec& spec) {
  const bool whole =
      value.is_integral() && std::string_view("eEfFgG%").find(spec.type) == std::string_view::npos;
  std::string digits;
  bool negative = false;
  if (whole || (value.is_integral() && !spec.type)) {
    const int64_t number = value.as_integer();
    negative = number < 0;
    digits = digits_of(
        negative ? uint64_t{0} - static_cast<uint64_t>(number) : static_cast<uint64_t>(number),
        spec);
  } else {
    const double number = value.as_real();
    negative = std::signbit(number) && !std::isnan(number);
    if (!spec.type && spec.precision < 0) {
      digits = float_text(std::abs(number));
    } else {
      Spec exact = spec;
      if (!exact.type) exact.type = 'g';
      digits = digits_of(std::abs(number), exact);
    }
  }
  return aligned(sign_of(negative, spec.sign), with_grouping(digits, spec.grouping), spec, '>');
}

}  // namespace

Result<std::string> Renderer::format_value(const Value& value, const std::string& text) {
  if (text.empty()) return str(value);
  Spec spec;
  if (!read_spec(text, spec)) {
    return error("the format of a value is not valid", "such as \"5\", \"<8\", \".2f\" or \"04d\"",
                 in_quotes(text));
  }
  const std::string_view types = value.is_string()        ? "s"
                                 : value.is(Kind::kFloat) ? "eEfFgG%"
                                 : value.is_integral()    ? "dxXobeEfFgG%"
                                                          : "s";
  if (spec.type && types.find(spec.type) == types.npos) {
    return type_error("the format " + in_quotes(text), std::string("a value for ") + spec.type,
                      value);
  }
  if (value.is_number() && !value.is(Kind::kBool)) return formatted_number(value, spec);
  if (spec.type == 'd') return formatted_number(value, spec);
  TAPML_ASSIGN(std::string whole, str(value));
  if (spec.precision >= 0) whole.resize(byte_of(whole, spec.precision));
  return aligned("", whole, spec, '<');
}

Result<Value> Renderer::format_percent(const std::string& format, const Value& values) {
  const Items single = {values};
  const Items& items = values.is(Kind::kTuple) ? values.items() : single;
  size_t used = 0;
  bool by_name = false;
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    ++at;
    Spec spec;
    const Value* value = nullptr;
    if (at < format.size() && format[at] == '(') {
      const size_t close = format.find(')', at);
      if (close == std::string::npos) return error("the format of a text is not valid", "\")\"");
      const std::string name = format.substr(at + 1, close - at - 1);
      value = values.find(name);
      if (!value) return error("the format names a value that is not given", in_quotes(name));
      by_name = true;
      at = close + 1;
    }
    for (; at < format.size() && std::string_view("-+ #0").find(format[at]) != std::string::npos;
         ++at) {
      if (format[at] == '-') spec.align = '<';
      if (format[at] == '0') spec.zero = true;
      if (format[at] == '#') spec.alternative = true;
      if (format[at] == '+') spec.sign = '+';
      if (format[at] == ' ' && spec.sign != '+') spec.sign = ' ';
    }
    at = read_number(format, at, spec.width);
    if (at < format.size() && format[at] == '.') {
      at = read_number(format, at + 1, spec.precision);
    }
    if (at >= format.size() || spec.width > kMostWidth || spec.precision > kMostWidth) {
      return error("the format of a text is not valid", "such as %s, %d or %.2f",
                   in_quotes(format));
    }
    spec.type = format[at++];
    if (spec.type == '%') {
      out += '%';
      continue;
    }
    if (!value) {
      if (used >= items.size()) {
        return error("the format needs more values", std::to_string(used + 1) + " values",
                     std::to_string(items.size()));
      }
      value = &items[used++];
    }
    if (value->is_undefined() && spec.type != 's') return undefined_error(*value);
    std::string piece;
    if (spec.type == 's' || spec.type == 'r') {
      if (spec.type == 's') {
        TAPML_ASSIGN(piece, str(*value));
      } else if (!value->append_repr(piece, options_.memory)) {
        TAPML_TRY(charge_bytes(options_.memory + 1));
      }
      if (spec.precision >= 0) piece.resize(byte_of(piece, spec.precision));
      piece = aligned("", piece, spec, '>');
    } else if (std::string_view("diuxXoeEfFgG").find(spec.type) != std::string::npos) {
      if (!value->is_number()) return type_error("the format of a text", "a number", *value);
      const bool whole = std::string_view("diuxXo").find(spec.type) != std::string::npos;
      Value number = *value;
      if (whole && number.is(Kind::kFloat)) {
        if (!(std::abs(number.as_real()) < 9e18)) {
          return error("a number is too large", "less than 9e18");
        }
        number = Value::integer(static_cast<int64_t>(number.as_real()));
      }
      if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
      if (spec.zero && !spec.align) {
        spec.fill = "0";
        spec.align = '=';
      }
      piece = formatted_number(number, spec);
    } else {
      return error("the format of a text is not valid", "such as %s, %d or %.2f",
                   in_quotes(format));
    }
    TAPML_TRY(charge_bytes(piece.size()));
    out += piece;
  }
  if (!by_name && used < items.size() && (values.is(Kind::kTuple) || !values.is_dict())) {
    return error("the format does not use all values", std::to_string(used) + " values",
                 std::to_string(items.size()));
  }
  return make_text(std::move(out));
}

Result<Value> Renderer::format_braces(const std::string& format, const Arguments& arguments) {
  std::string out;
  size_t automatic = 0;
  for (size_t at = 0; at < format.size();) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      out += c;
      ++at;
      continue;
    }
    if (at + 1 < format.size() && format[at + 1] == c) {
      out += c;
      at += 2;
      continue;
    }
    const size_t close = format.find('}', at);
    if (c == '}' || close == std::string::npos) {
      return error("the format of a text is not valid", "\"{\" and \"}\" in pairs",
                   in_quotes(format));
    }
    const std::string field = format.substr(at + 1, close - at - 1);
    at = close + 1;
    const size_t colon = field.find(':');
    std::string name = field.substr(0, colon);
    const std::string spec = colon == std::string::npos ? "" : field.substr(colon + 1);
    char conversion = 0;
    if (const size_t mark = name.find('!'); mark != std::string::npos) {
      conversion = mark + 2 == name.size() ? name[mark + 1] : '?';
      name.resize(mark);
    }
    if (spec.find('{') != std::string::npos || name.find('[') != std::string::npos ||
        (conversion && conversion != 's' && conversion != 'r')) {
      return error("the format of a text is not supported", "{}, {0}, {name} or {name:spec}",
                   in_quotes(field));
    }
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string first = name.substr(0, dot);
    std::string rest = name.substr(dot);
    Value value;
    int64_t index = -1;
    if (first.empty()) {
      index = static_cast<int64_t>(automatic++);
    } else if (first.find_first_not_of("0123456789") == std::string::npos) {
      read_number(first, 0, index);
    }
    if (index >= 0) {
      if (index >= std::ssize(arguments.positional)) {
        return error("the format needs more values", std::to_string(index + 1) + " values",
                     std::to_string(arguments.positional.size()));
      }
      value = arguments.positional[static_cast<size_t>(index)];
    } else {
      const auto named = std::ranges::find_if(
          arguments.named, [&](const auto& argument) { return argument.first == first; });
      if (named == arguments.named.end()) {
        return error("the format names a value that is not given", in_quotes(first));
      }
      value = named->second;
    }
    while (!rest.empty()) {
      const size_t next = std::min(rest.find('.', 1), rest.size());
      TAPML_ASSIGN(value, member(value, rest.substr(1, next - 1)));
      rest = rest.substr(next);
    }
    std::string piece;
    if (conversion == 'r') {
      if (!value.append_repr(piece, options_.memory)) {
        TAPML_TRY(charge_bytes(options_.memory + 1));
      }
      value = Value::string(std::move(piece));
    } else if (conversion == 's') {
      TAPML_ASSIGN(piece, str(value));
      value = Value::string(std::move(piece));
    }
    TAPML_ASSIGN(piece, format_value(value, spec));
    TAPML_TRY(charge_bytes(piece.size()));
    out += piece;
  }
  return make_text(std::move(out));
}

}  // namespace tapml::jinja
