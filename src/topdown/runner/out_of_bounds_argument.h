// Which of a kernel's parameters a stray access of one of its launches lies at.
#pragma once

#include <optional>
#include <string>

#include "exec/executable.h"
#include "topdown/suite/suite.h"

namespace tapml::topdown {

// "writes 1048576 bytes behind y": of an access that a text of the process names
// (runtime::find_stray), in the suite's call. Nothing where it names none of a launch of the call's
// kernel.
std::optional<std::string> out_of_bounds_argument(const Suite& suite, size_t call,
                                                  const Executable& executable,
                                                  const std::string& text);

}  // namespace tapml::topdown
