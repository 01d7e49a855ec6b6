// Programs of any size, for measuring how the compiler's cost grows.
#pragma once

#include <cstdint>
#include <string>

#include "ir/module.h"

namespace tapml::bench {

// A program of about this many bindings, as a text may have them (expressions nest in some).
// Shapes:
//   chain      one function of layers
//   wide       one whose values are live for long
//   functions  many small ones
//   control    ifs, closures, calls of functions that are inlined, evaluated or recursive
//   storage    views of one tensor and assignments to it
//   symbols    shapes that are only known at run time, each with a variable; constants; small
//              blocks
//   sizes      tensors and workspaces whose sizes cannot be compared
//   weights    separate weights for each layer, which `prepare` transposes; pattern matches
// UserError for any other shape.
Module generated_program(const std::string& shape, int64_t bindings);
inline constexpr const char* kShapes = "chain|wide|functions|control|storage|symbols|sizes|weights";

}  // namespace tapml::bench
