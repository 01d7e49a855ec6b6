// Identifies the build of the running program.
#pragma once

#include <string>

namespace tapml {

// Changes whenever the program, or the shared library that holds this code, is rebuilt from changed
// sources: the linker's build id, or else the size and time of the file. It keeps results of older
// builds apart.
const std::string& build_id();

}  // namespace tapml
