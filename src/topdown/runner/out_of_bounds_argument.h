// Finds the kernel parameter next to which a launch made a stray access.
#pragma once

#include <optional>
#include <string>

#include "exec/executable.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// "writes 1048576 bytes after y": for an access in the suite's call that a text of the process
// names (runtime::find_stray). Nothing if it names no launch of the call's kernel.
std::optional<std::string> out_of_bounds_argument(const Suite& suite, size_t call,
                                                  const Executable& executable,
                                                  const std::string& text);

}  // namespace tapml::topdown
