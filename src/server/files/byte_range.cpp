#include "server/files/byte_range.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace tapml::server {

namespace {

// Digits only; numbers beyond the range of the type are its largest one.
std::optional<int64_t> number(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return {};
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? value : std::numeric_limits<int64_t>::max();
}

}  // namespace

ByteRange parse_range(std::string_view header, int64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  const ByteRange whole{ByteRange::Kind::kWhole, 0, size};
  if (!header.starts_with(kUnit)) return whole;
  header.remove_prefix(kUnit.size());
  const size_t dash = header.find('-');
  if (dash == std::string_view::npos) return whole;
  const auto first = number(header.substr(0, dash)), last = number(header.substr(dash + 1));
  const ByteRange unsatisfiable{ByteRange::Kind::kUnsatisfiable, 0, 0};
  if (dash == 0) {  // the last bytes
    if (!last) return whole;
    if (*last == 0 || size == 0) return unsatisfiable;
    return {ByteRange::Kind::kPart, size - std::min(*last, size), size};
  }
  if (!first || (!last && dash + 1 < header.size()) || (last && *last < *first)) return whole;
  if (*first >= size) return unsatisfiable;
  return {ByteRange::Kind::kPart, *first, last ? std::min(*last, size - 1) + 1 : size};
}

}  // namespace tapml::server
