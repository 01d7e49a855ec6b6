// How a target implements a kernel, as text.
#pragma once

#include "pipeline/compile.h"

namespace tapml::topdown {

struct KernelSource {
  std::string loops;     // the scheduled tensor program, as text
  std::string code;      // in the platform's language, where that is text; else empty
  std::string language;  // of `code`: "opencl-c"
};

// Implements kernel `name` of `fixed` alone, as `options` say. Throws as pipeline::implement.
KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options);

}  // namespace tapml::topdown
