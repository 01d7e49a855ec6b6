// JSON values that remember their position, so that every error can name line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tapml {

enum class JsonKind { kNull, kBool, kInteger, kFloat, kString, kArray, kObject };

// A JSON value, immutable by convention. Objects keep the order of the file.
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

  // Unchecked: for another kind the result is false, 0 or an empty value.
  bool as_bool() const { return is_bool() && as_integer() != 0; }
  int64_t as_integer() const;
  double as_double() const;
  const std::string& as_string() const;
  const std::vector<Json>& items() const;
  const std::vector<std::pair<std::string, Json>>& members() const;

  // The member of an object, or nullptr.
  const Json* find(std::string_view key) const;

  // Builders; set() replaces a member of the same name.
  void set(std::string key, Json value);
  void push(Json value);

  // 1-based position of the value's first character; 0 when built in memory.
  int64_t line() const { return line_; }
  int64_t column() const { return column_; }

  // indent < 0: one line. Doubles print in their shortest exact form; NaN and infinity as null.
  std::string dump(int indent = -1) const;

 private:
  friend class JsonParser;
  using Members = std::vector<std::pair<std::string, Json>>;
  JsonKind kind_ = JsonKind::kNull;
  int32_t line_ = 0, column_ = 0;
  // int64 holds bool as well; null holds nothing.
  std::variant<std::monostate, int64_t, double, std::string, std::vector<Json>, Members> value_;
};

struct JsonLimits {
  int max_depth = 512;  // nesting of arrays and objects; 1,000 at most
  // Total number of values: each takes about 60 bytes of memory, however short its text is.
  size_t max_values = size_t{1} << 25;
  // Infinity and -Infinity, which JSON lacks and Python's json module writes, are numbers.
  bool infinities = false;
};

// Parses a whole document. `source` names it in errors ("config.json"). UserError for a syntax
// error, duplicate keys, invalid UTF-8, a number beyond double, and exceeded limits. An integer
// beyond int64 becomes a float: published configurations use 10^30 for "no limit".
Result<Json> parse_json(std::string_view text, std::string_view source, JsonLimits limits = {});

// "config.json:3:18": the position of a value in `source`, or only the source if it was built.
std::string json_location(std::string_view source, const Json& value);

// The value for messages: short, on one line.
std::string json_excerpt(const Json& value);

}  // namespace tapml
