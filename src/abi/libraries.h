// The libraries whose routines can implement cpu kernels. A library is its line here and its folder
// src/library/NAME/:
//   patterns.cpp  for the compiler: NAME_patterns(), the kernels that its routines implement
//                 (library/library.h)
//   routines.cpp  for the cpu device: NAME_library(), the routines, as in tapml/library.h
//                 (device/cpu/library/adapters.h)
#pragma once

#define TAPML_KNOWN_LIBRARIES(LIBRARY) \
  LIBRARY(openblas)                    \
  LIBRARY(onednn)
