// The parts of validate() that functions and kernels share. Not for users of the room.
#pragma once

#include <cstddef>

#include "exec/executable.h"

namespace tapml {

inline constexpr size_t kMaxRank = 64;

// What is wrong with the executable, and where in it.
Error refused(const std::string& where, const std::string& what);
bool is_known(DType dtype);
// Ok when 0 <= index < size.
Status check_index(int64_t index, size_t size, const std::string& where, const char* what);
// Ok when the program leaves exactly one value and reads only slots below `slots`.
Status check_program(const ScalarProgram& program, size_t slots, const std::string& where);
Status check_function(const Executable& executable, const VmFunction& function);

}  // namespace tapml
