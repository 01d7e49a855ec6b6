// Functions for generated GLSL, where the language has none with the required semantics.
#pragma once

#include <string>

namespace tapml::codegen {

// The helpers that `body` calls, directly or indirectly, in dependency order. `float16`: with the
// device's own conversions from and to f16.
std::string glsl_helpers(const std::string& body, bool float16 = false);

}  // namespace tapml::codegen
