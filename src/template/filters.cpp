// The filters of texts and numbers, and the table of all.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "base/suggest.h"
#include "template/renderer.h"
#include "template/text.h"
#include "template/to_json.h"

namespace tapml::jinja {

namespace {

template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

}  // namespace

Renderer::Filter Renderer::find_filter(std::string_view name) {
  static constexpr NamedFilter kFilters[] = {
      {"abs", &Renderer::filter_abs},
      {"attr", &Renderer::filter_attr},
      {"batch", &Renderer::filter_batch},
      {"capitalize", &Renderer::filter_capitalize},
      {"center", &Renderer::filter_center},
      {"count", &Renderer::filter_length},
      {"d", &Renderer::filter_default},
      {"default", &Renderer::filter_default},
      {"dictsort", &Renderer::filter_dictsort},
      {"e", &Renderer::filter_escape},
      {"escape", &Renderer::filter_escape},
      {"first", &Renderer::filter_first},
      {"float", &Renderer::filter_float},
      {"format", &Renderer::filter_format},
      {"groupby", &Renderer::filter_groupby},
      {"indent", &Renderer::filter_indent},
      {"int", &Renderer::filter_int},
      {"items", &Renderer::filter_items},
      {"join", &Renderer::filter_join},
      {"last", &Renderer::filter_last},
      {"length", &Renderer::filter_length},
      {"list", &Renderer::filter_list},
      {"lower", &Renderer::filter_lower},
      {"map", &Renderer::filter_map},
      {"max", &Renderer::filter_max},
      {"min", &Renderer::filter_min},
      {"reject", &Renderer::filter_reject},
      {"rejectattr", &Renderer::filter_rejectattr},
      {"replace", &Renderer::filter_replace},
      {"reverse", &Renderer::filter_reverse},
      {"round", &Renderer::filter_round},
      {"safe", &Renderer::filter_safe},
      {"select", &Renderer::filter_select},
      {"selectattr", &Renderer::filter_selectattr},
      {"slice", &Renderer::filter_slice},
      {"sort", &Renderer::filter_sort},
      {"string", &Renderer::filter_string},
      {"sum", &Renderer::filter_sum},
      {"title", &Renderer::filter_title},
      {"tojson", &Renderer::filter_tojson},
      {"trim", &Renderer::filter_trim},
      {"truncate", &Renderer::filter_truncate},
      {"unique", &Renderer::filter_unique},
      {"upper", &Renderer::filter_upper},
      {"urlencode", &Renderer::filter_urlencode},
      {"wordcount", &Renderer::filter_wordcount},
  };
  if (name.empty()) return &Renderer::filter_safe;
  const auto* found =
      std::ranges::find_if(kFilters, [&](const NamedFilter& one) { return one.name == name; });
  return found == std::end(kFilters) ? nullptr : found->filter;
}

Result<Value> Renderer::apply_filter(std::string_view name, const Value& value,
                                     const Arguments& arguments) {
  const Filter filter = find_filter(name);
  if (!filter || name.empty()) {
    return error("there is no such filter",
                 "a filter of texts, numbers, lists or dicts that Jinja has (docs/chat.md)",
                 in_quotes(name));
  }
  return (this->*filter)(value, arguments);
}

Result<Value> Renderer::changed_text(const Value& value, std::string (*change)(std::string_view)) {
  TAPML_ASSIGN(const std::string text, str(value));
  return make_text(change(text));
}

Result<Value> Renderer::filter_upper(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "upper", {}));
  return changed_text(value, upper);
}

Result<Value> Renderer::filter_lower(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "lower", {}));
  return changed_text(value, lower);
}

Result<Value> Renderer::filter_title(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "title", {}));
  return changed_text(value, titled_words);
}

Result<Value> Renderer::filter_capitalize(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "capitalize", {}));
  return changed_text(value, capitalized);
}

Result<Value> Renderer::filter_string(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "string", {}));
  TAPML_ASSIGN(std::string text, str(value));
  return Value::string(std::move(text));
}

Result<Value> Renderer::filter_safe(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "safe", {}));
  TAPML_ASSIGN(std::string text, str(value));
  return Value::marked(std::move(text));
}

Result<Value> Renderer::filter_escape(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "escape", {}));
  if (value.is_marked()) return value;
  TAPML_ASSIGN(const std::string text, str(value));
  std::string out = escaped(text);
  TAPML_TRY(charge_bytes(out.size()));
  return Value::marked(std::move(out));
}

Result<Value> Renderer::filter_center(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "center", {"width"}));
  TAPML_ASSIGN(const std::string text, str(value));
  return call_text_method(text, "center", {{bound[0] ? *bound[0] : Value::integer(80)}, {}});
}

Result<Value> Renderer::filter_trim(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "trim", {"chars"}));
  TAPML_ASSIGN(const std::string text, str(value));
  return call_text_method(text, "strip", {{bound[0] ? *bound[0] : Value::none()}, {}});
}

Result<Value> Renderer::filter_replace(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "replace", {"old", "new", "count"}, 2));
  TAPML_ASSIGN(const std::string text, str(value));
  TAPML_ASSIGN(const std::string old, str(*bound[0]));
  TAPML_ASSIGN(const std::string by, str(*bound[1]));
  int64_t most = -1;
  if (bound[2] && !bound[2]->is_none()) {
    TAPML_ASSIGN(most, integer(bound[2], "replace", -1));
  }
  return make_text(replaced(text, old, by, most, options_.memory));
}

Result<Value> Renderer::filter_format(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const std::string format, str(value));
  if (!arguments.named.empty()) {
    if (!arguments.positional.empty()) {
      return error("format has values with and without names", "one of both");
    }
    Members members;
    for (const auto& [name, one] : arguments.named) {
      members.emplace_back(Value::string(name), one);
    }
    return format_percent(format, Value::dict(std::move(members)));
  }
  return format_percent(format, Value::tuple(arguments.positional));
}

Result<Value> Renderer::filter_indent(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "indent", {"width", "first", "blank"}));
  if (!value.is_string()) return type_error("the filter indent", "a text", value);
  std::string indent = "    ";
  if (bound[0] && bound[0]->is_string()) {
    indent = bound[0]->text();
  } else if (bound[0]) {
    TAPML_ASSIGN(const int64_t width, integer(bound[0], "indent", 4));
    if (width > 1000) return error("the indent is too wide", "1000", std::to_string(width));
    indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  const bool first = boolean(bound[1], false), blank = boolean(bound[2], false);
  const std::string text = value.text() + "\n";
  const auto lines = split_lines(text);
  TAPML_TRY(charge_bytes(text.size() + lines.size() * indent.size()));
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += '\n';
    if (i == 0 ? first : blank || !lines[i].empty()) out += indent;
    out += lines[i];
  }
  return Value::string(std::move(out));
}

Result<Value> Renderer::filter_truncate(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound,
               bind(arguments, "truncate", {"length", "killwords", "end", "leeway"}));
  TAPML_ASSIGN(const int64_t length, integer(bound[0], "truncate", 255));
  TAPML_ASSIGN(const std::string end, string(bound[2], "truncate", "..."));
  int64_t leeway = 5;
  if (bound[3] && !bound[3]->is_none()) {
    TAPML_ASSIGN(leeway, integer(bound[3], "truncate", 5));
  }
  if (!value.is_string()) return type_error("the filter truncate", "a text", value);
  const std::string& text = value.text();
  const int64_t kept = length - count_code_points(end);
  if (kept < 0 || leeway < 0) {
    return error("truncate is shorter than its end", "at least that length",
                 std::to_string(length));
  }
  if (leeway >= count_code_points(text) || count_code_points(text) - leeway <= length) return value;
  std::string out = text.substr(0, byte_of(text, kept));
  if (!boolean(bound[1], false)) {
    const size_t space = out.rfind(' ');
    if (space != std::string::npos) out.resize(space);
  }
  return make_text(out + end);
}

Result<Value> Renderer::filter_wordcount(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "wordcount", {}));
  TAPML_ASSIGN(const std::string text, str(value));
  int64_t words = 0;
  bool inside = false;
  for (const std::string_view one : split_code_points(text)) {
    const bool word = one == "_" || test_characters(one, CharacterTest::kAlnum);
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::integer(words);
}

Result<Value> Renderer::filter_urlencode(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "urlencode", {}));
  const auto quoted = [&](const Value& one, bool in_query) -> Result<std::string> {
    TAPML_ASSIGN(const std::string text, str(one));
    std::string out;
    for (const char c : text) {
      const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                         (c >= 'a' && c <= 'z') || c == '_' || c == '.' || c == '-' || c == '~' ||
                         (c == '/' && !in_query);
      if (plain) {
        out += c;
      } else if (c == ' ' && in_query) {
        out += '+';
      } else {
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += "0123456789ABCDEF"[byte >> 4];
        out += "0123456789ABCDEF"[byte & 15];
      }
    }
    return out;
  };
  if (!value.is_dict()) {
    TAPML_ASSIGN(std::string text, quoted(value, false));
    return make_text(std::move(text));
  }
  std::string out;
  for (const auto& [key, item] : value.members()) {
    TAPML_ASSIGN(const std::string name, quoted(key, true));
    TAPML_ASSIGN(const std::string text, quoted(item, true));
    out += (out.empty() ? "" : "&") + name + "=" + text;
  }
  return make_text(std::move(out));
}

Result<Value> Renderer::filter_abs(const Value& value, const Arguments& arguments) {
  TAPML_TRY(bind(arguments, "abs", {}));
  if (!value.is_number()) return type_error("the filter abs", "a number", value);
  if (value.is(Kind::kFloat)) return Value::real(std::abs(value.as_real()));
  if (value.as_integer() >= 0) return Value::integer(value.as_integer());
  return integer_binary("-", 0, value.as_integer());
}

namespace {

// A number as Python's int() and float() read it: with blanks around it and "_" between digits.
std::optional<std::string> plain_number(std::string_view text) {
  text = strip(text, true, true);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto digit = [&](size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (text[i] == '_') {
      if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
      continue;
    }
    if (text[i] == '+' && i == 0 && text.size() > 1 && text[1] != '-') continue;
    out += text[i];
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::optional<double> parse_real(std::string_view text) {
  const auto plain = plain_number(text);
  return plain ? decimal_number(*plain) : std::nullopt;
}

std::optional<int64_t> parse_integer(std::string_view text, int base) {
  auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  const bool negative = plain->starts_with('-');
  std::string digits = plain->substr(negative ? 1 : 0);
  for (const auto& [prefix, of] : {std::pair{"0x", 16}, std::pair{"0o", 8}, std::pair{"0b", 2}}) {
    if (of == base && lower(digits).starts_with(prefix)) digits = digits.substr(2);
  }
  if (negative) digits.insert(0, "-");
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, value, base);
  if (parsed.ptr != end || parsed.ec != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

Result<Value> Renderer::filter_int(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "int", {"default", "base"}));
  TAPML_ASSIGN(const int64_t base, integer(bound[1], "int", 10));
  if (base < 2 || base > 36) return error("int has another base", "2 to 36", std::to_string(base));
  const Value fallback = bound[0] ? *bound[0] : Value::integer(0);
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_integral()) return Value::integer(value.as_integer());
  std::optional<double> real;
  if (value.is(Kind::kFloat)) real = value.as_real();
  if (value.is_string()) {
    const auto whole = parse_integer(value.text(), static_cast<int>(base));
    if (whole) return Value::integer(*whole);
    real = parse_real(value.text());
  }
  if (!real || !(std::abs(*real) < 9.2e18)) return fallback;
  return Value::integer(static_cast<int64_t>(*real));
}

Result<Value> Renderer::filter_float(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "float", {"default"}));
  const Value fallback = bound[0] ? *bound[0] : Value::real(0);
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_number()) return Value::real(value.as_real());
  if (!value.is_string()) return fallback;
  const auto real = parse_real(value.text());
  return real ? Value::real(*real) : fallback;
}

Result<Value> Renderer::filter_round(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound, bind(arguments, "round", {"precision", "method"}));
  TAPML_ASSIGN(const int64_t precision, integer(bound[0], "round", 0));
  TAPML_ASSIGN(const std::string method, string(bound[1], "round", "common"));
  if (method != "common" && method != "ceil" && method != "floor") {
    return error("round has another method", "common, ceil or floor", in_quotes(method));
  }
  if (!value.is_number()) return type_error("the filter round", "a number", value);
  if (precision < -300 || precision > 300) {
    return error("round has too many digits", "at most 300", std::to_string(precision));
  }
  if (method == "common") {
    if (value.is_integral()) {
      if (precision >= 0) return Value::integer(value.as_integer());
      const double scale = std::pow(10.0, static_cast<double>(-precision));
      const double rounded =
          std::nearbyint(static_cast<double>(value.as_integer()) / scale) * scale;
      return Value::integer(std::abs(rounded) < 9e18 ? static_cast<int64_t>(rounded) : 0);
    }
    if (precision < 0) {
      const double scale = std::pow(10.0, static_cast<double>(-precision));
      return Value::real(std::nearbyint(value.as_real() / scale) * scale);
    }
    // The digits of the exact value decide, and a tie goes to the even digit.
    Arguments one;
    TAPML_ASSIGN(const std::string text,
                 format_value(Value::real(value.as_real()), "." + std::to_string(precision) + "f"));
    const auto rounded = parse_real(text);
    return Value::real(rounded.value_or(value.as_real()));
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.as_real() * scale;
  return Value::real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Result<std::string> Renderer::to_json(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(const Bound bound,
               bind(arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii = boolean(bound[0], false);
  style.sorted = boolean(bound[3], false);
  if (bound[1] && !bound[1]->is_none()) {
    style.indented = true;
    if (bound[1]->is_string()) {
      style.indent = bound[1]->text();
    } else {
      TAPML_ASSIGN(const int64_t width, integer(bound[1], "the indent of tojson", 0));
      if (width > 100) return error("the indent is too wide", "100", std::to_string(width));
      style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
    style.item_separator = ",";
  }
  if (bound[2] && !bound[2]->is_none()) {
    TAPML_ASSIGN(const Items both, items_of(*bound[2]));
    if (both.size() != 2 || !both[0].is_string() || !both[1].is_string()) {
      return error("the separators of tojson are not two texts", "such as (\",\", \":\")");
    }
    style.item_separator = both[0].text();
    style.key_separator = both[1].text();
  }
  std::string out;
  Value wrong;
  const size_t most = options_.memory - std::min(bytes_, options_.memory);
  const JsonResult result = append_json(out, value, style, most, wrong);
  if (result == JsonResult::kNoJson) return type_error("tojson", "a value that JSON has", wrong);
  TAPML_TRY(charge_bytes(out.size() + (result == JsonResult::kTooLong ? options_.memory : 0)));
  return out;
}

Result<Value> Renderer::filter_tojson(const Value& value, const Arguments& arguments) {
  TAPML_ASSIGN(std::string text, to_json(value, arguments));
  return Value::string(std::move(text));
}

}  // namespace tapml::jinja
