#include "runtime/launch_note.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace tapml::runtime {

namespace {

constexpr std::string_view kByte = " to byte ", kArgument = " of argument ", kOf = " of ";
constexpr std::string_view kMisbehavior = "the kernel ";

// Removes `prefix` from the front of `text` if present.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take(std::string_view& text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

void LaunchNote::set_entry(std::string_view name) noexcept {
  const size_t count = std::min(name.size(), sizeof entry - 1);
  std::memcpy(entry, name.data(), count);
  entry[count] = '\0';
}

int LaunchNote::find(uintptr_t address) const noexcept {
  const int count = std::clamp(arguments.load(), 0, kMostArguments);
  for (int i = 0; i < count; ++i) {
    if (address >= argument[i].zone_begin && address < argument[i].zone_end) return i;
  }
  return -1;
}

std::string out_of_bounds_text(const StrayAccess& access) {
  return (access.write ? "a write" : "a read") + std::string(kByte) + std::to_string(access.byte) +
         std::string(kArgument) + std::to_string(access.argument) + std::string(kOf) + access.entry;
}

std::optional<StrayAccess> find_stray(std::string_view text) {
  for (size_t at = 0; (at = text.find(kByte, at)) != std::string_view::npos; ++at) {
    const std::string_view before = text.substr(0, at);
    StrayAccess access;
    access.write = before.ends_with("a write");
    std::string_view rest = text.substr(at);
    if (!access.write && !before.ends_with("a read")) continue;
    if (!take(rest, kByte) || !take(rest, access.byte) || !take(rest, kArgument) ||
        !take(rest, access.argument) || !take(rest, kOf)) {
      continue;
    }
    access.entry = rest.substr(0, rest.find_first_of(" ,;:\n"));
    return access;
  }
  return std::nullopt;
}

Error misbehavior(const std::string& what) {
  return platform_error(PlatformFault::kCrash, std::string(kMisbehavior) + what);
}

bool is_misbehavior(const Error& error) {
  return error.fault == PlatformFault::kCrash && error.message.starts_with(kMisbehavior);
}

}  // namespace tapml::runtime
