// Which build of this program is running.
#pragma once

#include <string>

namespace tapml {

// Changes whenever the program, or the shared library that holds this code, is built from other
// sources: the linker's build id, else size and time of the file. What older builds have computed
// is reported apart by it.
const std::string& build_id();

}  // namespace tapml
