// Checks what a hand-written tensor program requires of a target.
#pragma once

#include <string>

#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::codegen {

// Throws a UserError, at `where`, for a program that cannot be compiled: a global allocation inside
// a loop nest, work groups or barriers on a target without them, matrix operations and
// asynchronous copies, groups larger than the target allows, local and shared buffers above its
// limits, functions supported by neither the target nor
// portable math. `func` is the program after scheduling and lower_math. Compiler-generated programs
// always pass.
void check_program(const tir::PrimFunc& func, const target::Description& target,
                   const std::string& where);

}  // namespace tapml::codegen
