// tapml's own adapters: libraries of the system behind the interface that a user's library has.
// Each opens its shared object when a device needs it, so that a program without library kernels
// needs nothing. Private to this folder.
#pragma once

#include <tapml/library.h>

#include <cstdarg>
#include <cstdio>

namespace tapml::device {

// Routines: matmul. Parameters: transpose_a, transpose_b.
const tapml_library* openblas_library();
// Routines: matmul, softmax, layer_norm, convolution (library/onednn/patterns.cpp has their
// parameters).
const tapml_library* onednn_library();

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
