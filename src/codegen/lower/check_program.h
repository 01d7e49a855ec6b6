// What a hand-written tensor program may ask of a target.
#pragma once

#include <string>

#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::codegen {

// UserError, at `where`, for what no code can be made of: a global allocation inside a loop nest,
// work groups and barriers on a target without them, groups of more threads than the target has,
// local and shared buffers that need more memory than it has for them,
// functions that neither the target nor portable math has. `func` is the program after scheduling
// and lower_math. Programs that the compiler wrote hold none of these.
void check_program(const tir::PrimFunc& func, const target::Description& target,
                   const std::string& where);

}  // namespace tapml::codegen
