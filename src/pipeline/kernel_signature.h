// A kernel's interface for its callers. Private to pipeline/.
#pragma once

#include <string>

#include "exec/executable.h"
#include "ir/module.h"
#include "target/target.h"

namespace tapml::pipeline {

// The signature table's entry of kernel `name`: its parameters and its text.
KernelInfo kernel_signature(const Module& module, const std::string& name);

// PlatformError if the kernel provably exceeds the platform's limits.
void check_limits(const KernelInfo& info, const target::Target& target);

}  // namespace tapml::pipeline
