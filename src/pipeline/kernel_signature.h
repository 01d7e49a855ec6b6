// A kernel as its callers know it. Private to pipeline/.
#pragma once

#include <string>

#include "exec/executable.h"
#include "ir/module.h"
#include "target/target.h"

namespace tapml::pipeline {

// The signature table's entry of kernel `name`: parameters as its callers know them, and its text.
KernelInfo kernel_signature(const Module& module, const std::string& name);

// PlatformError where the kernel is known to be beyond the platform's limits.
void check_limits(const KernelInfo& info, const target::Target& target);

}  // namespace tapml::pipeline
