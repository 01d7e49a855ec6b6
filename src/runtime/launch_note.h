// What is known of the launch that runs, and what is said of a launch that does what no kernel may.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tapml::runtime {

// Kept by a watched device for whoever handles a crash of the process: plain memory, which a signal
// handler may read.
struct LaunchNote {
  static constexpr int kMostArguments = 64;
  // An argument of the launch, and the addresses around it that belong to nothing else.
  struct Argument {
    uintptr_t begin = 0;
    uintptr_t zone_begin = 0, zone_end = 0;  // equal: not known
  };
  std::atomic<bool> running = false;
  std::atomic<int> arguments = 0;
  Argument argument[kMostArguments];
  char entry[160] = {};

  void set_entry(std::string_view name) noexcept;
  // The argument that `address` lies at; -1: none.
  int find(uintptr_t address) const noexcept;
};

// An access outside of an argument of a launch.
struct StrayAccess {
  bool write = true;
  int64_t byte = 0;      // from where the argument begins
  int64_t argument = 0;  // of the launch
  std::string entry;
};
// "a write to byte -4 of argument 2 of scale"
std::string out_of_bounds_text(const StrayAccess& access);
// The first one in a text, which may come from anywhere.
std::optional<StrayAccess> find_stray(std::string_view text);

// The error of a launch that ran to its end and did what no kernel may: written beside its
// arguments, to a standard stream, or left the processor otherwise than it found it. `what`:
// "writes to a standard stream: ...".
Error misbehavior(const std::string& what);
bool is_misbehavior(const Error& error);

}  // namespace tapml::runtime
