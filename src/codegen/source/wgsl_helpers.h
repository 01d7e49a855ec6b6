// Functions that generated WGSL calls.
#pragma once

#include <string>

namespace tapml::codegen {

// The helpers that `functions` call, directly or through other helpers.
std::string wgsl_helpers(const std::string& functions);

}  // namespace tapml::codegen
