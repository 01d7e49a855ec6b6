// A source to start a custom kernel from (docs/custom-kernels.md).
#pragma once

#include <string>

#include "ir/module.h"
#include "target/target.h"

namespace tapml::topdown {

// The source of kernel `name` of `fixed`, a module after kernel formation, in the target's
// language: the header that custom_source.h reads, a description, and the compiler's loops in their
// plainest form, one work item per output element, which compile and are right. UserError for a
// target without a language; PlatformError (kLimit) if it cannot run the loops.
std::string kernel_skeleton(const Module& fixed, const std::string& name,
                            const target::Target& target);

}  // namespace tapml::topdown
