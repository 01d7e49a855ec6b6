// Functions that generated GLSL calls where the language has none of that meaning.
#pragma once

#include <string>

namespace tapml::codegen {

// The helpers that `body` calls, and those that these call, in an order that compiles.
std::string glsl_helpers(const std::string& body);

}  // namespace tapml::codegen
