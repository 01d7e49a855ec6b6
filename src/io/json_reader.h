// Typed reading of the fields of a JSON object, with errors that name the position, the key, and
// the expected and found values.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/json.h"

namespace tapml {

// Every method returns a UserError for a field that is missing (required_*), of another type or out
// of range. optional_* and *_or treat null as absent. Ranges are inclusive. The JSON value must
// outlive the reader.
class JsonObjectReader {
 public:
  static constexpr int64_t kMinInt = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
  static constexpr double kMaxFloat = std::numeric_limits<double>::max();

  // `source` names the file, `path` the path of this object ("rope_scaling"; empty for the top
  // level). If `json` is not an object, every method returns an error.
  JsonObjectReader(const Json& json, std::string source, std::string path = "");

  const Json& json() const { return *json_; }
  const std::string& source() const { return source_; }
  const std::string& path() const { return path_; }
  // The member, or nullptr if it is absent or null.
  const Json* find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key) != nullptr; }
  // An error if this is not an object.
  Status check_object() const;

  // Integers; a number with a fraction is rejected even if the fraction is zero.
  Result<int64_t> required_int(std::string_view key, int64_t min = kMinInt,
                               int64_t max = kMaxInt) const;
  Result<std::optional<int64_t>> optional_int(std::string_view key, int64_t min = kMinInt,
                                              int64_t max = kMaxInt) const;
  Result<int64_t> int_or(std::string_view key, int64_t fallback, int64_t min = kMinInt,
                         int64_t max = kMaxInt) const;

  // Numbers, integers included.
  Result<double> required_float(std::string_view key, double min = -kMaxFloat,
                                double max = kMaxFloat) const;
  Result<std::optional<double>> optional_float(std::string_view key, double min = -kMaxFloat,
                                               double max = kMaxFloat) const;
  Result<double> float_or(std::string_view key, double fallback, double min = -kMaxFloat,
                          double max = kMaxFloat) const;

  Result<bool> required_bool(std::string_view key) const;
  Result<std::optional<bool>> optional_bool(std::string_view key) const;
  Result<bool> bool_or(std::string_view key, bool fallback) const;

  Result<std::string> required_string(std::string_view key) const;
  Result<std::optional<std::string>> optional_string(std::string_view key) const;
  Result<std::string> string_or(std::string_view key, std::string fallback) const;
  // One of `choices`; the error lists them.
  Result<std::string> required_choice(std::string_view key,
                                      std::span<const std::string_view> choices) const;

  Result<JsonObjectReader> required_object(std::string_view key) const;
  Result<std::optional<JsonObjectReader>> optional_object(std::string_view key) const;

  // The unchecked array; the caller checks its items (see item_error).
  Result<const std::vector<Json>*> required_array(std::string_view key) const;
  Result<const std::vector<Json>*> optional_array(std::string_view key) const;  // absent: nullptr
  Result<std::vector<int64_t>> required_int_array(std::string_view key, int64_t min = kMinInt,
                                                  int64_t max = kMaxInt) const;
  Result<std::vector<std::string>> required_string_array(std::string_view key) const;

  // For checks by the caller: `config.json: "key" <problem>`, at the field's position.
  Error field_error(std::string_view key, std::string_view problem, std::string expected,
                    std::string hint = "") const;
  // The same for a value inside a field, named by its path below this object ("merges[3]").
  Error item_error(const Json& value, std::string_view path, std::string_view problem,
                   std::string expected) const;

  // Keys of this object that are not in `known`, in the order of the file.
  std::vector<std::string> unknown_keys(std::span<const std::string_view> known) const;

 private:
  std::string full_path(std::string_view key) const;
  Error missing(std::string_view key, std::string expected) const;
  // The member of a required field, or the error.
  Result<const Json*> member(std::string_view key, std::string expected) const;

  const Json* json_;
  std::string source_;
  std::string path_;
};

}  // namespace tapml
