// How a target implements a kernel, as text.
#pragma once

#include <vector>

#include "pipeline/compile.h"
#include "topdown/kernels/user_source.h"

namespace tapml::topdown {

struct KernelSource {
  std::string loops;  // the scheduled tensor program, as text; empty where code is the user's
  // In the platform's language, where that is text, as the user wrote it or as it was generated;
  // else empty.
  std::string code;
  std::string language;  // of `code`: "opencl-c", "glsl" (one shader a launch), "c"

  std::string file_name() const;  // "kernel.cl", "kernel.comp", "kernel.c"
};

// Implements kernel `name` of `fixed` alone, as `options` say; `user_sources` are those that
// `options.foreign` was made of. Throws as pipeline::implement.
KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options,
                           const std::vector<UserSource>& user_sources = {});

}  // namespace tapml::topdown
