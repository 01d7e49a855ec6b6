#include "base/units.h"

#include <cmath>
#include <cstdio>

namespace tapml {

namespace {

// `value` below 1024, with three digits.
std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
  return text;
}

}  // namespace

std::string counted(int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string size_text(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) {
    return counted(bytes, "byte");
  }
  double value = std::fabs(static_cast<double>(bytes)) / 1024;
  size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return (bytes < 0 ? "-" : "") + three_digits(value) + " " + kUnits[unit];
}

std::string time_text(double seconds) {
  if (!(std::fabs(seconds) < 1e15)) return "inf";
  const double size = std::fabs(seconds);
  const char* sign = seconds < 0 ? "-" : "";
  if (size == 0) return "0 s";
  if (size < 999.5e-9) return sign + three_digits(1e9 * size) + " ns";
  if (size < 999.5e-6) return sign + three_digits(1e6 * size) + " µs";
  if (size < 999.5e-3) return sign + three_digits(1e3 * size) + " ms";
  return sign + three_digits(size) + " s";
}

}  // namespace tapml
