// Emitted code made pleasant to read, without another meaning: for skeletons of kernels.
#pragma once

#include <set>
#include <string>

namespace tapml::codegen {

// Without parentheses that the precedence of * / % + - comparisons, && || ?: and = makes needless.
// Those of shifts and bits stay, as do those that decide in which order floats are added.
std::string without_needless_parentheses(const std::string& code);

// Kernels with more parameters than fit into a line have them in several.
std::string with_short_signatures(const std::string& code);

// Names that the emitter gave ("x_0") without their number, where the plain name stands nowhere
// else in the code and is no word of OpenCL C or C, or of GLSL where the code `is_glsl`. `kept`:
// names that callers use.
std::string with_plain_names(const std::string& code, const std::set<std::string>& kept,
                             bool is_glsl = false);

}  // namespace tapml::codegen
