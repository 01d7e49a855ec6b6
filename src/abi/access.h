// How a kernel uses a parameter (architecture contract 3).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tapml {

enum class AccessMode : uint8_t {
  kIn,
  kOut,
  kInOut,
  kWorkspace,  // implementation signatures only: scratch memory from the caller
  kPrepared,   // implementation signatures only: weights packed once at load
};

const char* access_mode_name(AccessMode mode);  // "in", "out", "inout", "workspace", "prepared"
std::optional<AccessMode> parse_access_mode(std::string_view name);

}  // namespace tapml
