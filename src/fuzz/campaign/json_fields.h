// Members of JSON objects by name; absent ones are empty. Private to campaign/.
#pragma once

#include <charconv>
#include <string>

#include "io/json.h"

namespace tapml::fuzz {

inline const std::string& text_at(const Json& json, const char* key) {
  static const std::string kNone;
  const Json* value = json.find(key);
  return value ? value->as_string() : kNone;
}

inline bool flag_at(const Json& json, const char* key) {
  const Json* value = json.find(key);
  return value && value->as_bool();
}

inline double number_at(const Json& json, const char* key, double fallback = 0) {
  const Json* value = json.find(key);
  return value ? value->as_double() : fallback;
}

// Seeds have 64 bits, which a JSON integer has not: they are strings.
inline Json seed_json(uint64_t seed) { return Json::string(std::to_string(seed)); }
inline uint64_t seed_at(const Json& json, const char* key) {
  const std::string& text = text_at(json, key);
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace tapml::fuzz
