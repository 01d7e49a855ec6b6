// Programs of any size, for counting what the compiler does with them.
#pragma once

#include <cstdint>
#include <string>

#include "ir/module.h"

namespace tapml::bench {

// About this many bindings, as a text may have them (expressions nest in some). Shapes:
//   chain      one function of layers
//   wide       one whose values live long
//   functions  many small ones
//   control    ifs, closures, calls of functions that are inlined, evaluated or recurse
//   storage    views of one tensor and assignments to it
//   symbols    shapes that are only known at run time, each with a variable; constants; small
//              blocks
//   sizes      tensors and workspaces of which none is known to be as large as another
//   weights    a layer's own weights, which `prepare` transposes; what a pattern matches
// UserError for another one.
Module generated_program(const std::string& shape, int64_t bindings);
inline constexpr const char* kShapes = "chain|wide|functions|control|storage|symbols|sizes|weights";

// `module` with an attribute that asks outline_bindings for one in ten runs of four bindings of its
// dataflow blocks.
Module marked_for_outlining(const Module& module);

}  // namespace tapml::bench
