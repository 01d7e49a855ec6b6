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
  // Of `code`: the generator's (codegen/code_generator.h), or "assembly".
  std::string language;
  std::string provider;  // "schedule:<rule>", "library:<name>", "user:<file>"

  std::string ending;  // of a file with `code`: ".cl", ".comp", ".c", ".s"
};

// Implements kernel `name` of `fixed` alone, as `options` say; `user_sources` are those that
// `options.foreign` was made of. With `assembly`, code for processors is text for their assembler;
// else there is none for them. Throws as pipeline::implement.
KernelSource kernel_source(const Module& fixed, const std::string& name,
                           const target::Target& target, pipeline::ImplementOptions options,
                           const std::vector<UserSource>& user_sources = {}, bool assembly = false);

}  // namespace tapml::topdown
