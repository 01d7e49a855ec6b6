#include "topdown/results/json_archive.h"

#include <cstdio>

namespace tapml::topdown {

namespace {

// The numbers that real() writes as strings, because JSON lacks them.
std::optional<double> named_number(const Json& json) {
  if (!json.is_string()) return std::nullopt;
  const std::string& text = json.as_string();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return kInfinity;
  if (text == "-inf") return -kInfinity;
  if (text == "nan" || text == "-nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace

Json real(double value) {
  if (std::isfinite(value)) return Json::number(value);
  if (std::isinf(value)) return Json::string(value > 0 ? "inf" : "-inf");
  return Json::string(std::signbit(value) ? "-nan" : "nan");
}

Status read_real(const JsonObjectReader& json, std::string_view key, double& value) {
  const Json* found = json.find(key);
  if (const auto named = found ? named_number(*found) : std::nullopt) {
    value = *named;
    return {};
  }
  TAPML_ASSIGN(value, json.required_float(key));
  return {};
}

Status JsonFieldReader::read_reals(const char* key, std::vector<double>& values) {
  TAPML_ASSIGN(const std::vector<Json>* items, json_.required_array(key));
  for (size_t i = 0; i < items->size(); ++i) {
    const Json& item = (*items)[i];
    const auto named = named_number(item);
    if (!named && !item.is_number()) {
      return fail(json_.item_error(item, std::string(key) + "[" + std::to_string(i) + "]",
                                   "is not a number", "a number"));
    }
    values.push_back(named ? *named : item.as_double());
  }
  return {};
}

}  // namespace tapml::topdown
