// A platform that tapml does not have: a language near to C, compiled by the system's cc and run in
// this process. It is written against the interfaces that docs/add-a-platform.md lists and nothing
// else, which platform_test.cpp checks.
#pragma once

#include "target/target.h"

namespace tapml::testing {

// tapml's platforms, and "toy".
target::PlatformTable with_toy_platform();

}  // namespace tapml::testing
