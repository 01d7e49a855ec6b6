// A record of the current launch, and errors for launches that break the rules for kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tapml::runtime {

// Filled by a watched device for a crash handler: plain memory that a signal handler may read.
struct LaunchNote {
  static constexpr int kMostArguments = 64;
  // An argument of the launch, and the addresses around it that contain nothing else.
  struct Argument {
    uintptr_t begin = 0;
    uintptr_t zone_begin = 0, zone_end = 0;  // equal: unknown
  };
  std::atomic<bool> running = false;
  std::atomic<int> arguments = 0;
  Argument argument[kMostArguments];
  char entry[160] = {};

  void set_entry(std::string_view name) noexcept;
  // The argument at or near `address`; -1: none.
  int find(uintptr_t address) const noexcept;
};

// An access outside of an argument of a launch.
struct StrayAccess {
  bool write = true;
  int64_t byte = 0;      // relative to the start of the argument
  int64_t argument = 0;  // index in the launch
  std::string entry;
};
// "a write to byte -4 of argument 2 of scale"
std::string out_of_bounds_text(const StrayAccess& access);
// The first such access in a text, which may be from anywhere.
std::optional<StrayAccess> find_stray(std::string_view text);

// The error of a launch that completed but did something that kernels may not do: it wrote outside
// of its arguments or to a standard stream, or changed the processor's state. `what`: "writes to a
// standard stream: ...".
Error misbehavior(const std::string& what);
bool is_misbehavior(const Error& error);

}  // namespace tapml::runtime
