// tapml's own adapters: libraries of the system behind the interface that a user's library has.
// Each opens its shared object when a device needs it, so that a program without library kernels
// needs nothing. For src/library/*/routines.cpp.
#pragma once

#include <tapml/library.h>

#include <cstdarg>
#include <cstdio>

#include "abi/libraries.h"

namespace tapml::device {

// Each library's folder has its routines.
#define TAPML_DECLARE_LIBRARY(name) const tapml_library* name##_library();
TAPML_KNOWN_LIBRARIES(TAPML_DECLARE_LIBRARY)
#undef TAPML_DECLARE_LIBRARY

// Puts a text where a library's caller reads it; the result is the routine's failure.
[[gnu::format(printf, 3, 4)]] inline int32_t say(char* message, size_t size, const char* format,
                                                 ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, size, format, args);
  va_end(args);
  return 1;
}

}  // namespace tapml::device
