#include "cli/sizes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

bool parse_number(const std::string& text, int64_t& value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

}  // namespace

std::map<std::string, int64_t> parse_assignments(const std::string& text, const char* option) {
  std::map<std::string, int64_t> values;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string part = text.substr(at, end - at);
    size_t equals = part.find('=');
    int64_t value = 0;
    if (equals == 0 || equals == std::string::npos ||
        !parse_number(part.substr(equals + 1), value)) {
      throw_user("a value of a symbolic variable cannot be read", option, "n=512,b=1", part);
    }
    values[part.substr(0, equals)] = value;
    at = end + 1;
  }
  return values;
}

int64_t parse_size(const std::string& text, const char* option) {
  std::string digits = text;
  for (char& c : digits) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  int64_t unit = 1;
  for (const std::string_view suffix : {"IB", "B"}) {
    if (!digits.ends_with(suffix)) continue;
    digits.resize(digits.size() - suffix.size());
    break;
  }
  if (!digits.empty()) {
    size_t power = std::string("KMGT").find(digits.back());
    if (power != std::string::npos) {
      for (size_t i = 0; i <= power; ++i) unit *= 1024;
      digits.pop_back();
    }
  }
  int64_t value = 0;
  if (!parse_number(digits, value) || __builtin_mul_overflow(value, unit, &value)) {
    throw_user("a size cannot be read", option, "bytes below 2^63, as in 512M or 2GiB", text);
  }
  return value;
}

double parse_seconds(const std::string& text, const char* option) {
  std::string digits = text;
  int64_t unit = 1;
  if (!digits.empty()) {
    const size_t power = std::string("smh").find(digits.back());
    if (power != std::string::npos) {
      unit = std::array{1, 60, 3600}[power];
      digits.pop_back();
    }
  }
  int64_t value = 0;
  if (!parse_number(digits, value) || value > (int64_t{1} << 40)) {
    throw_user("a time cannot be read", option, "90s, 10m or 6h", text);
  }
  return static_cast<double>(value * unit);
}

}  // namespace tapml::cli
