// The source of one kernel, as a target implements it.
#pragma once

#include <vector>

#include "pipeline/compile.h"
#include "topdown/kernels/custom_source.h"
#include "topdown/results/kernel_source.h"

namespace tapml::topdown {

// Implements kernel `name` of `fixed` alone, as `options` say; `custom_sources` are those that
// `options.foreign` was made of. With `assembly`, code for processors is text for their assembler;
// else there is none for them. Throws as pipeline::implement.
KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options,
                           const std::vector<CustomSource>& custom_sources = {},
                           bool assembly = false);

}  // namespace tapml::topdown
