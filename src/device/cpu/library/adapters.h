// tapml's own adapters: system libraries behind the interface for user libraries. Each opens its
// shared object when a device needs it, so a program without library kernels needs none of them.
// For src/library/*/routines.cpp.
#pragma once

#include <tapml/library.h>

#include <cstdarg>
#include <cstdio>

#include "abi/libraries.h"

namespace tapml::device {

// Defined in each library's folder.
#define TAPML_DECLARE_LIBRARY(name) const tapml_library* name##_library();
TAPML_KNOWN_LIBRARIES(TAPML_DECLARE_LIBRARY)
#undef TAPML_DECLARE_LIBRARY

// Stores a text for the library's caller; returns the routine's failure code.
[[gnu::format(printf, 3, 4)]] inline int32_t say(char* message, size_t size, const char* format,
                                                 ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, size, format, args);
  va_end(args);
  return 1;
}

}  // namespace tapml::device
