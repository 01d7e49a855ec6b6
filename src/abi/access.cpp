#include "abi/access.h"

#include <array>

namespace tapml {

namespace {
// In the order of the AccessMode enumeration.
constexpr std::array<const char*, 5> kNames = {"in", "out", "inout", "workspace", "prepared"};
}  // namespace

const char* access_mode_name(AccessMode mode) { return kNames[static_cast<size_t>(mode)]; }

std::optional<AccessMode> parse_access_mode(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<AccessMode>(i);
  }
  return std::nullopt;
}

}  // namespace tapml
