// Makes emitted code readable without changing its meaning, for skeletons of kernels.
#pragma once

#include <set>
#include <string>

namespace tapml::codegen {

// Removes parentheses that the precedence of * / % + - comparisons, && || ?: and = makes redundant.
// Keeps those around shifts and bit operations, and those that fix the order of float additions.
std::string without_needless_parentheses(const std::string& code);

// Wraps parameter lists that do not fit on one line.
std::string with_short_signatures(const std::string& code);

// Removes the number from names that the emitter chose ("x_0"), if the plain name is not used
// elsewhere in the code and is not a word of OpenCL C or C, or of GLSL if `is_glsl`. `kept`: names
// that callers use.
std::string with_plain_names(const std::string& code, const std::set<std::string>& kept,
                             bool is_glsl = false);

}  // namespace tapml::codegen
