// What the harnesses of the readers agree on: whatever the input, a reader returns a value or a
// complaint about the input. All else is a finding, as is what the sanitizers see.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tapml::fuzz_readers {

// Ends the run; libFuzzer then keeps the input.
[[noreturn]] inline void finding(const std::string& what) {
  std::fprintf(stderr, "finding: %s\n", what.c_str());
  std::abort();
}

inline void require(bool holds, std::string_view what) {
  if (!holds) finding(std::string(what));
}

// A complaint names the input as the culprit and has a message.
inline void require_user_error(const Error& error) {
  if (error.kind != ErrorKind::kUser) finding("not the input's fault: " + error.to_string());
  require(!error.message.empty(), "an error without a message");
}

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace tapml::fuzz_readers
