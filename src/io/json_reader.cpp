#include "io/json_reader.h"

#include <algorithm>

#include "base/strings.h"

namespace tapml {

namespace {

std::string int_expectation(int64_t min, int64_t max) {
  bool low = min != JsonObjectReader::kMinInt;
  bool high = max != JsonObjectReader::kMaxInt;
  if (low && high) {
    return "an integer from " + std::to_string(min) + " to " + std::to_string(max);
  }
  if (low) return "an integer of at least " + std::to_string(min);
  if (high) return "an integer of at most " + std::to_string(max);
  return "an integer";
}

std::string number_text(double value) { return Json::number(value).dump(); }

std::string float_expectation(double min, double max) {
  bool low = min != -JsonObjectReader::kMaxFloat;
  bool high = max != JsonObjectReader::kMaxFloat;
  if (low && high) return "a number from " + number_text(min) + " to " + number_text(max);
  if (low) return "a number of at least " + number_text(min);
  if (high) return "a number of at most " + number_text(max);
  return "a number";
}

// Common to the optional forms: empty for an absent field, else the result of the required form.
template <class T, class Read>
Result<std::optional<T>> if_present(const JsonObjectReader& reader, std::string_view key,
                                    Read read) {
  TAPML_TRY(reader.check_object());
  if (!reader.has(key)) return std::optional<T>();
  TAPML_ASSIGN(T value, read());
  return std::optional<T>(std::move(value));
}

template <class T>
Result<T> or_fallback(Result<std::optional<T>> value, T fallback) {
  if (!value) return fail(std::move(value).error());
  return value->has_value() ? std::move(**value) : std::move(fallback);
}

}  // namespace

JsonObjectReader::JsonObjectReader(const Json& json, std::string source, std::string path)
    : json_(&json), source_(std::move(source)), path_(std::move(path)) {}

const Json* JsonObjectReader::find(std::string_view key) const {
  const Json* value = json_->find(key);
  return value && !value->is_null() ? value : nullptr;
}

Status JsonObjectReader::check_object() const {
  if (json_->is_object()) return {};
  std::string subject = path_.empty() ? "the top level" : in_quotes(path_);
  return fail(user_error(source_ + ": " + subject + " is not an object",
                         json_location(source_, *json_), "an object", json_excerpt(*json_)));
}

std::string JsonObjectReader::full_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Error JsonObjectReader::missing(std::string_view key, std::string expected) const {
  const Json* value = json_->find(key);
  return user_error(
      source_ + ": " + in_quotes(full_path(key)) + (value ? " is null" : " is missing"),
      json_location(source_, value ? *value : *json_), std::move(expected),
      value ? "null" : "no such key");
}

Error JsonObjectReader::item_error(const Json& value, std::string_view path,
                                   std::string_view problem, std::string expected) const {
  return user_error(source_ + ": " + in_quotes(full_path(path)) + " " + std::string(problem),
                    json_location(source_, value), std::move(expected), json_excerpt(value));
}

Error JsonObjectReader::field_error(std::string_view key, std::string_view problem,
                                    std::string expected, std::string hint) const {
  const Json* value = find(key);
  Error error = value ? item_error(*value, key, problem, std::move(expected))
                      : missing(key, std::move(expected));
  error.hint = std::move(hint);
  return error;
}

Result<const Json*> JsonObjectReader::member(std::string_view key, std::string expected) const {
  TAPML_TRY(check_object());
  const Json* value = find(key);
  if (!value) return fail(missing(key, std::move(expected)));
  return value;
}

Result<int64_t> JsonObjectReader::required_int(std::string_view key, int64_t min,
                                               int64_t max) const {
  std::string expected = int_expectation(min, max);
  TAPML_ASSIGN(const Json* value, member(key, expected));
  if (!value->is_integer()) return fail(item_error(*value, key, "is not an integer", expected));
  int64_t number = value->as_integer();
  if (number < min || number > max) {
    return fail(item_error(*value, key, "is out of range", expected));
  }
  return number;
}

Result<std::optional<int64_t>> JsonObjectReader::optional_int(std::string_view key, int64_t min,
                                                              int64_t max) const {
  return if_present<int64_t>(*this, key, [&] { return required_int(key, min, max); });
}

Result<int64_t> JsonObjectReader::int_or(std::string_view key, int64_t fallback, int64_t min,
                                         int64_t max) const {
  return or_fallback(optional_int(key, min, max), fallback);
}

Result<double> JsonObjectReader::required_float(std::string_view key, double min,
                                                double max) const {
  std::string expected = float_expectation(min, max);
  TAPML_ASSIGN(const Json* value, member(key, expected));
  if (!value->is_number()) return fail(item_error(*value, key, "is not a number", expected));
  double number = value->as_double();
  if (number < min || number > max) {
    return fail(item_error(*value, key, "is out of range", expected));
  }
  return number;
}

Result<std::optional<double>> JsonObjectReader::optional_float(std::string_view key, double min,
                                                               double max) const {
  return if_present<double>(*this, key, [&] { return required_float(key, min, max); });
}

Result<double> JsonObjectReader::float_or(std::string_view key, double fallback, double min,
                                          double max) const {
  return or_fallback(optional_float(key, min, max), fallback);
}

Result<bool> JsonObjectReader::required_bool(std::string_view key) const {
  TAPML_ASSIGN(const Json* value, member(key, "true or false"));
  if (!value->is_bool()) return fail(item_error(*value, key, "is not a boolean", "true or false"));
  return value->as_bool();
}

Result<std::optional<bool>> JsonObjectReader::optional_bool(std::string_view key) const {
  return if_present<bool>(*this, key, [&] { return required_bool(key); });
}

Result<bool> JsonObjectReader::bool_or(std::string_view key, bool fallback) const {
  return or_fallback(optional_bool(key), fallback);
}

Result<std::string> JsonObjectReader::required_string(std::string_view key) const {
  TAPML_ASSIGN(const Json* value, member(key, "a string"));
  if (!value->is_string()) return fail(item_error(*value, key, "is not a string", "a string"));
  return value->as_string();
}

Result<std::optional<std::string>> JsonObjectReader::optional_string(std::string_view key) const {
  return if_present<std::string>(*this, key, [&] { return required_string(key); });
}

Result<std::string> JsonObjectReader::string_or(std::string_view key, std::string fallback) const {
  return or_fallback(optional_string(key), std::move(fallback));
}

Result<std::string> JsonObjectReader::required_choice(
    std::string_view key, std::span<const std::string_view> choices) const {
  std::string expected = join_choices(choices);
  TAPML_ASSIGN(const Json* value, member(key, expected));
  if (!value->is_string()) return fail(item_error(*value, key, "is not a string", expected));
  if (std::find(choices.begin(), choices.end(), value->as_string()) == choices.end()) {
    return fail(item_error(*value, key, "is not known", expected));
  }
  return value->as_string();
}

Result<JsonObjectReader> JsonObjectReader::required_object(std::string_view key) const {
  TAPML_ASSIGN(const Json* value, member(key, "an object"));
  if (!value->is_object()) return fail(item_error(*value, key, "is not an object", "an object"));
  return JsonObjectReader(*value, source_, full_path(key));
}

Result<std::optional<JsonObjectReader>> JsonObjectReader::optional_object(
    std::string_view key) const {
  return if_present<JsonObjectReader>(*this, key, [&] { return required_object(key); });
}

Result<const std::vector<Json>*> JsonObjectReader::required_array(std::string_view key) const {
  TAPML_ASSIGN(const Json* value, member(key, "an array"));
  if (!value->is_array()) return fail(item_error(*value, key, "is not an array", "an array"));
  return &value->items();
}

Result<const std::vector<Json>*> JsonObjectReader::optional_array(std::string_view key) const {
  TAPML_TRY(check_object());
  if (!has(key)) return nullptr;
  return required_array(key);
}

Result<std::vector<int64_t>> JsonObjectReader::required_int_array(std::string_view key, int64_t min,
                                                                  int64_t max) const {
  TAPML_ASSIGN(const std::vector<Json>* items, required_array(key));
  std::vector<int64_t> values;
  for (const Json& item : *items) {
    std::string path = std::string(key) + "[" + std::to_string(values.size()) + "]";
    if (!item.is_integer()) {
      return fail(item_error(item, path, "is not an integer", int_expectation(min, max)));
    }
    if (item.as_integer() < min || item.as_integer() > max) {
      return fail(item_error(item, path, "is out of range", int_expectation(min, max)));
    }
    values.push_back(item.as_integer());
  }
  return values;
}

Result<std::vector<std::string>> JsonObjectReader::required_string_array(
    std::string_view key) const {
  TAPML_ASSIGN(const std::vector<Json>* items, required_array(key));
  std::vector<std::string> values;
  for (const Json& item : *items) {
    if (!item.is_string()) {
      std::string path = std::string(key) + "[" + std::to_string(values.size()) + "]";
      return fail(item_error(item, path, "is not a string", "a string"));
    }
    values.push_back(item.as_string());
  }
  return values;
}

std::vector<std::string> JsonObjectReader::unknown_keys(
    std::span<const std::string_view> known) const {
  std::vector<std::string> unknown;
  for (const auto& [key, value] : json_->members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) unknown.push_back(key);
  }
  return unknown;
}

}  // namespace tapml
