// Functions for generated GLSL, where the language has none with the required semantics.
#pragma once

#include <string>

namespace tapml::codegen {

// The helpers that `body` calls, directly or indirectly, in dependency order.
std::string glsl_helpers(const std::string& body);

}  // namespace tapml::codegen
