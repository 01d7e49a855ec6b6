#include "io/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/printable.h"
#include "base/strings.h"

namespace tapml {

namespace {

template <class T, class Variant>
const T& held_or_empty(const Variant& value) {
  static const T kEmpty{};
  const T* held = std::get_if<T>(&value);
  return held ? *held : kEmpty;
}

void write_string(std::string& out, std::string_view text) {
  out += '"';
  for (size_t i = 0; i < text.size();) {
    size_t length = utf8_sequence_length(text, i);
    char c = text[i];
    if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD: JSON cannot represent other bytes
      ++i;
      continue;
    }
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (control_character_length(text, i) > 0) {
      // The second byte of a C1 character is its number. A terminal acts on these and on DEL.
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(text[i + length - 1])));
      out += escape;
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  out += '"';
}

void write_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> text;
  auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  std::string_view digits(text.data(), static_cast<size_t>(end - text.data()));
  out += digits;
  // Without a point or an exponent it would be read back as an integer.
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

bool all_numbers(const std::vector<Json>& items) {
  for (const Json& item : items) {
    if (!item.is_number()) return false;
  }
  return true;
}

void new_line(std::string& out, int indent, int level) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
}

void write_value(std::string& out, const Json& value, int indent, int level) {
  switch (value.kind()) {
    case JsonKind::kNull:
      out += "null";
      return;
    case JsonKind::kBool:
      out += value.as_bool() ? "true" : "false";
      return;
    case JsonKind::kInteger:
      out += std::to_string(value.as_integer());
      return;
    case JsonKind::kFloat:
      return write_double(out, value.as_double());
    case JsonKind::kString:
      return write_string(out, value.as_string());
    case JsonKind::kArray: {
      // Short arrays such as shapes stay on one line.
      int inner = all_numbers(value.items()) ? -1 : indent;
      out += '[';
      for (size_t i = 0; i < value.items().size(); ++i) {
        if (i > 0) out += inner < 0 && indent >= 0 ? ", " : ",";
        new_line(out, inner, level + 1);
        write_value(out, value.items()[i], inner, level + 1);
      }
      if (!value.items().empty()) new_line(out, inner, level);
      out += ']';
      return;
    }
    case JsonKind::kObject: {
      out += '{';
      bool first = true;
      for (const auto& [key, member] : value.members()) {
        if (!first) out += ',';
        first = false;
        new_line(out, indent, level + 1);
        write_string(out, key);
        out += indent < 0 ? ":" : ": ";
        write_value(out, member, indent, level + 1);
      }
      if (!first) new_line(out, indent, level);
      out += '}';
      return;
    }
  }
}

}  // namespace

Json Json::boolean(bool value) {
  Json json;
  json.kind_ = JsonKind::kBool;
  json.value_ = static_cast<int64_t>(value);
  return json;
}

Json Json::integer(int64_t value) {
  Json json;
  json.kind_ = JsonKind::kInteger;
  json.value_ = value;
  return json;
}

Json Json::number(double value) {
  Json json;
  json.kind_ = JsonKind::kFloat;
  json.value_ = value;
  return json;
}

Json Json::string(std::string value) {
  Json json;
  json.kind_ = JsonKind::kString;
  json.value_ = std::move(value);
  return json;
}

Json Json::array(std::vector<Json> items) {
  Json json;
  json.kind_ = JsonKind::kArray;
  json.value_ = std::move(items);
  return json;
}

Json Json::object(std::vector<std::pair<std::string, Json>> members) {
  Json json;
  json.kind_ = JsonKind::kObject;
  json.value_ = std::move(members);
  return json;
}

const char* Json::kind_name() const {
  switch (kind_) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kBool:
      return "a boolean";
    case JsonKind::kInteger:
      return "an integer";
    case JsonKind::kFloat:
      return "a fractional number";
    case JsonKind::kString:
      return "a string";
    case JsonKind::kArray:
      return "an array";
    case JsonKind::kObject:
      return "an object";
  }
  return "null";
}

int64_t Json::as_integer() const { return held_or_empty<int64_t>(value_); }

double Json::as_double() const {
  return kind_ == JsonKind::kInteger ? static_cast<double>(as_integer())
                                     : held_or_empty<double>(value_);
}

const std::string& Json::as_string() const { return held_or_empty<std::string>(value_); }

const std::vector<Json>& Json::items() const { return held_or_empty<std::vector<Json>>(value_); }

const std::vector<std::pair<std::string, Json>>& Json::members() const {
  return held_or_empty<Members>(value_);
}

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Json::set(std::string key, Json value) {
  Members* members = std::get_if<Members>(&value_);
  if (!members) {
    kind_ = JsonKind::kObject;
    members = &value_.emplace<Members>();
  }
  for (auto& [name, member] : *members) {
    if (name == key) {
      member = std::move(value);
      return;
    }
  }
  members->emplace_back(std::move(key), std::move(value));
}

void Json::push(Json value) {
  auto* items = std::get_if<std::vector<Json>>(&value_);
  if (!items) {
    kind_ = JsonKind::kArray;
    items = &value_.emplace<std::vector<Json>>();
  }
  items->push_back(std::move(value));
}

std::string Json::dump(int indent) const {
  std::string out;
  write_value(out, *this, indent, 0);
  return out;
}

std::string json_location(std::string_view source, const Json& value) {
  std::string place(source);
  if (value.line() > 0) {
    place += ":" + std::to_string(value.line()) + ":" + std::to_string(value.column());
  }
  return place;
}

std::string json_excerpt(const Json& value) {
  switch (value.kind()) {
    case JsonKind::kNull:
      return "null";
    case JsonKind::kString:
      return "the string " + in_quotes(value.as_string(), 60);
    case JsonKind::kArray:
      return "an array of " + std::to_string(value.items().size());
    case JsonKind::kObject:
      return "an object";
    default:
      return value.dump();
  }
}

}  // namespace tapml
