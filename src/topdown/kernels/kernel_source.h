// The source of one kernel, as a target implements it.
#pragma once

#include <vector>

#include "pipeline/compile.h"
#include "topdown/kernels/custom_source.h"
#include "topdown/results/kernel_source.h"

namespace tapml::topdown {

// Implements kernel `name` of `fixed` alone, with `options`; `custom_sources` are the sources of
// `options.foreign`. With `assembly`, machine code is returned as assembly text; else it is
// omitted. Throws as pipeline::implement.
KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options,
                           const std::vector<CustomSource>& custom_sources = {},
                           bool assembly = false);

}  // namespace tapml::topdown
