// The parts of validate() that functions and kernels share. Private to the component.
#pragma once

#include <cstddef>

#include "exec/executable.h"

namespace tapml {

inline constexpr size_t kMaxRank = 64;

// The error for a fault in the executable, and its location.
Error refused(const std::string& where, const std::string& what);
bool is_known(DType dtype);
// Ok if 0 <= index < size.
Status check_index(int64_t index, size_t size, const std::string& where, const char* what);
// Ok if the program leaves exactly one value and reads only slots below `slots`.
Status check_program(const ScalarProgram& program, size_t slots, const std::string& where);
Status check_function(const Executable& executable, const VmFunction& function);

}  // namespace tapml
