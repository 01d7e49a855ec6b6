// JSON values that remember where they stood, so that every complaint can name line and column.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tapml {

enum class JsonKind { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };

// An immutable-by-convention JSON value. Objects keep the order of the file.
class Json {
 public:
  Json() = default;
  static Json null() { return Json(); }
  static Json boolean(bool value);
  static Json integer(int64_t value);
  static Json number(double value);
  static Json string(std::string value);
  static Json array(std::vector<Json> items = {});
  static Json object(std::vector<std::pair<std::string, Json>> members = {});

  JsonKind kind() const { return kind_; }
  bool is_null() const { return kind_ == JsonKind::kNull; }
  bool is_bool() const { return kind_ == JsonKind::kBool; }
  bool is_integer() const { return kind_ == JsonKind::kInteger; }
  bool is_number() const { return kind_ == JsonKind::kInteger || kind_ == JsonKind::kFloat; }
  bool is_string() const { return kind_ == JsonKind::kString; }
  bool is_array() const { return kind_ == JsonKind::kArray; }
  bool is_object() const { return kind_ == JsonKind::kObject; }
  const char* kind_name() const;  // "null", "a string", "an object", ...

  // Unchecked: the kind must match.
  bool as_bool() const { return integer_ != 0; }
  int64_t as_integer() const { return integer_; }
  double as_double() const { return kind_ == JsonKind::kInteger ? double(integer_) : float_; }
  const std::string& as_string() const { return text_; }
  const std::vector<Json>& items() const { return items_; }
  const std::vector<std::pair<std::string, Json>>& members() const { return members_; }

  // Member of an object, or nullptr.
  const Json* find(std::string_view key) const;

  // Building (objects: replaces a member of the same name).
  void set(std::string key, Json value);
  void push(Json value);

  // 1-based position of the value's first character; 0 when built in memory.
  int64_t line() const { return line_; }
  int64_t column() const { return column_; }

  // indent < 0: one line. Doubles print in shortest exact form; NaN and infinity as null.
  std::string dump(int indent = -1) const;

 private:
  friend class JsonBuilder;
  JsonKind kind_ = JsonKind::kNull;
  int64_t integer_ = 0;
  double float_ = 0;
  std::string text_;
  std::vector<Json> items_;
  std::vector<std::pair<std::string, Json>> members_;
  int64_t line_ = 0, column_ = 0;
};

// Parses a whole document. `source` names it in errors ("config.json"). UserError for a syntax
// error, duplicate keys, invalid UTF-8, an integer beyond int64 that is not a float, and nesting
// deeper than `max_depth`.
Result<Json> parse_json(std::string_view text, std::string_view source, int max_depth = 512);

}  // namespace tapml
