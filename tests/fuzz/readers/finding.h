// Conventions of the reader harnesses: for any input a reader returns a value or an error about the
// input. Anything else is a finding, as is a sanitizer report.
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

// The error is a user error and has a message.
inline void require_user_error(const Error& error) {
  if (error.kind != ErrorKind::kUser) finding("not the input's fault: " + error.to_string());
  require(!error.message.empty(), "an error without a message");
}

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace tapml::fuzz_readers
