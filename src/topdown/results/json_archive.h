// Writes results as JSON objects and reads them again: result_fields.h has one list of fields per
// structure for both.
#pragma once

#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/json_reader.h"

namespace tapml::topdown {

// "inf", "-inf" or "nan" as a string for numbers that JSON lacks.
Json real(double value);
// Reads what real() writes; UserError for anything else.
Status read_real(const JsonObjectReader& json, std::string_view key, double& value);

// Named numbers, which are an object: {"n": 16, "m": 3}.
using NamedNumbers = std::vector<std::pair<std::string, int64_t>>;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_list<std::set<T>> = true;

// What both archives have in common, so that one list of fields is written and read:
//   a("key", x.field)             a field; a structure is an object, a list an array
//   a.present("key", x.field)     an std::optional, omitted if empty
//   a.nullable("key", x.field)    a field that is null if empty
//   a.choice("key", x.field, last, name)   an enum from 0 to `last`
//   a.range("key", x.field, min, max)      an integer from `min` to `max`
//   a.items("key", x.list, each)  a list whose items have more than their own fields
//   a.inside("key", exists, each)  an optional object with fields of several structures
//   a.derived("key", json)        a value that follows from the rest: written, and not read
//   a.expect("key", holds, ...)   a condition on a field, for readers
class JsonWriter {
 public:
  static constexpr bool kReads = false;

  template <class T>
  void operator()(const char* key, const T& value) {
    json_.set(key, json_of(value));
  }
  template <class T>
  void present(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  template <class T>
  void nullable(const char* key, const std::optional<T>& value) {
    json_.set(key, value ? json_of(*value) : Json::null());
  }
  template <class T>
  void choice(const char* key, T value, T /*last*/, const char* (*name)(T)) {
    json_.set(key, Json::string(name(value)));
  }
  template <std::integral T>
  void range(const char* key, T value, int64_t /*min*/,
             int64_t /*max*/ = JsonObjectReader::kMaxInt) {
    (*this)(key, value);
  }
  template <class T, class Each>
  void items(const char* key, const std::vector<T>& list, const Each& each) {
    std::vector<Json> items;
    for (const T& one : list) {
      JsonWriter writer;
      each(writer, const_cast<T&>(one));
      items.push_back(writer.take());
    }
    json_.set(key, Json::array(std::move(items)));
  }
  template <class Each>
  void inside(const char* key, bool exists, const Each& each) {
    if (!exists) return;
    JsonWriter writer;
    each(writer);
    json_.set(key, writer.take());
  }
  bool has(const char* /*key*/) const { return false; }
  template <class Make>
  void derived(const char* key, const Make& json) {
    json_.set(key, json());
  }
  void expect(const char* /*key*/, bool /*holds*/, const char* /*problem*/,
              const std::string& /*expected*/) {}

  Json take() { return std::move(json_); }

  template <class T>
  static Json json_of(const T& value) {
    if constexpr (std::same_as<T, bool>) {
      return Json::boolean(value);
    } else if constexpr (std::integral<T>) {
      return Json::integer(static_cast<int64_t>(value));
    } else if constexpr (std::floating_point<T>) {
      return real(value);
    } else if constexpr (std::same_as<T, std::string>) {
      return Json::string(value);
    } else if constexpr (std::same_as<T, NamedNumbers>) {
      Json json = Json::object();
      for (const auto& [name, number] : value) json.set(name, Json::integer(number));
      return json;
    } else if constexpr (is_list<T>) {
      std::vector<Json> items;
      for (const auto& one : value) items.push_back(json_of(one));
      return Json::array(std::move(items));
    } else {
      JsonWriter writer;
      // Writing uses the list of fields for reading, and changes nothing.
      fields(writer, const_cast<T&>(value));
      return writer.take();
    }
  }

 private:
  Json json_ = Json::object();
};

// Keeps the first error and goes on reading.
class JsonFieldReader {
 public:
  static constexpr bool kReads = true;

  explicit JsonFieldReader(const JsonObjectReader& json) : json_(json) {}

  template <class T>
  void operator()(const char* key, T& value) {
    note(read(key, value));
  }
  template <class T>
  void present(const char* key, std::optional<T>& value) {
    if (has(key)) (*this)(key, value.emplace());
  }
  template <class T>
  void nullable(const char* key, std::optional<T>& value) {
    present(key, value);
  }
  template <class T>
  void choice(const char* key, T& value, T last, const char* (*name)(T)) {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(last); ++i) names.emplace_back(name(static_cast<T>(i)));
    const auto found = json_.required_choice(key, names);
    if (!found) return note(fail(found.error()));
    for (size_t i = 0; i < names.size(); ++i) {
      if (*found == names[i]) value = static_cast<T>(i);
    }
  }
  template <std::integral T>
  void range(const char* key, T& value, int64_t min, int64_t max = JsonObjectReader::kMaxInt) {
    const auto number = json_.required_int(key, min, max);
    if (!number) return note(fail(number.error()));
    value = static_cast<T>(*number);
  }
  template <class T, class Each>
  void items(const char* key, std::vector<T>& list, const Each& each) {
    const auto array = json_.required_array(key);
    if (!array) return note(fail(array.error()));
    for (size_t i = 0; i < (*array)->size(); ++i) {
      const JsonObjectReader one((**array)[i], json_.source(),
                                 std::string(key) + "[" + std::to_string(i) + "]");
      JsonFieldReader reader(one);
      each(reader, list.emplace_back());
      note(reader.status());
    }
  }
  template <class Each>
  void inside(const char* key, bool /*exists*/, const Each& each) {
    const auto object = json_.optional_object(key);
    if (!object) return note(fail(object.error()));
    if (!*object) return;
    JsonFieldReader reader(**object);
    each(reader);
    note(reader.status());
  }
  bool has(const char* key) const { return json_.has(key); }
  template <class Make>
  void derived(const char* /*key*/, const Make& /*json*/) {}
  void expect(const char* key, bool holds, const char* problem, const std::string& expected) {
    if (!holds) note(fail(json_.field_error(key, problem, expected)));
  }

  const Status& status() const { return status_; }

 private:
  void note(const Status& status) {
    if (status_ && !status) status_ = status;
  }

  template <class T>
  Status read(const char* key, T& value) {
    if constexpr (std::same_as<T, bool>) {
      TAPML_ASSIGN(value, json_.required_bool(key));
    } else if constexpr (std::integral<T>) {
      constexpr bool kWide = sizeof(T) == sizeof(int64_t);  // 64 bits are kept as they are
      constexpr int64_t kMin = kWide ? JsonObjectReader::kMinInt : std::numeric_limits<T>::min();
      constexpr int64_t kMax = kWide ? JsonObjectReader::kMaxInt : std::numeric_limits<T>::max();
      TAPML_ASSIGN(const int64_t number, json_.required_int(key, kMin, kMax));
      value = static_cast<T>(number);
    } else if constexpr (std::floating_point<T>) {
      return read_real(json_, key, value);
    } else if constexpr (std::same_as<T, std::string>) {
      TAPML_ASSIGN(value, json_.required_string(key));
    } else if constexpr (std::same_as<T, NamedNumbers>) {
      TAPML_ASSIGN(const JsonObjectReader object, json_.required_object(key));
      for (const auto& [name, number] : object.json().members()) {
        TAPML_ASSIGN(int64_t one, object.required_int(name));
        value.emplace_back(name, one);
      }
    } else if constexpr (std::same_as<T, std::vector<std::string>>) {
      TAPML_ASSIGN(value, json_.required_string_array(key));
    } else if constexpr (std::same_as<T, std::set<std::string>>) {
      TAPML_ASSIGN(const std::vector<std::string> names, json_.required_string_array(key));
      value.insert(names.begin(), names.end());
    } else if constexpr (std::same_as<T, std::vector<int64_t>>) {
      TAPML_ASSIGN(value, json_.required_int_array(key));
    } else if constexpr (std::same_as<T, std::vector<int32_t>>) {
      using Limits = std::numeric_limits<int32_t>;
      TAPML_ASSIGN(const std::vector<int64_t> numbers,
                   json_.required_int_array(key, Limits::min(), Limits::max()));
      value.assign(numbers.begin(), numbers.end());
    } else if constexpr (std::same_as<T, std::vector<double>>) {
      return read_reals(key, value);
    } else if constexpr (is_list<T>) {
      items(key, value, [](JsonFieldReader& reader, auto& one) { fields(reader, one); });
    } else {
      TAPML_ASSIGN(const JsonObjectReader object, json_.required_object(key));
      JsonFieldReader reader(object);
      fields(reader, value);
      return reader.status();
    }
    return {};
  }
  Status read_reals(const char* key, std::vector<double>& values);

  const JsonObjectReader& json_;
  Status status_;
};

template <class T>
Json to_json(const T& value) {
  return JsonWriter::json_of(value);
}

template <class T>
Result<T> from_json(const JsonObjectReader& json) {
  T value;
  JsonFieldReader reader(json);
  fields(reader, value);
  TAPML_TRY(reader.status());
  return value;
}

}  // namespace tapml::topdown
