// The libraries whose routines can implement kernels of the cpu. A library is its line here and its
// folder src/library/NAME/:
//   patterns.cpp  what the compiler asks: NAME_patterns(), the kernels that its routines take
//                 (library/library.h)
//   routines.cpp  what the cpu device calls: NAME_library(), the routines behind tapml/library.h
//                 (device/cpu/library/adapters.h)
#pragma once

#define TAPML_KNOWN_LIBRARIES(LIBRARY) \
  LIBRARY(openblas)                    \
  LIBRARY(onednn)
