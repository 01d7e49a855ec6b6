// A platform that is not part of tapml: a C-like language, compiled by the system's cc and run in
// this process. It uses only the interfaces that docs/add-a-platform.md lists, which
// platform_test.cpp checks.
#pragma once

#include "target/target.h"

namespace tapml::testing {

// tapml's platforms, and "toy".
target::PlatformTable with_toy_platform();

}  // namespace tapml::testing
