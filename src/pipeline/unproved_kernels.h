// Kernels that are not proved to stay within their buffers: hand-written code.
#pragma once

#include <string>
#include <vector>

#include "exec/executable.h"
#include "ir/module.h"
#include "text/source_map.h"
#include "tir/prim_func.h"

namespace tapml::pipeline {

struct UnprovedKernel {
  std::string name;
  std::string reason;  // "program f: x[idx[i]] may be outside of x"
};

// The executable's kernels from custom sources, from loops that a module's text adds to their
// specification, and from hand-written tensor programs, that contain an access not proved in
// bounds. Code that the compiler generates, from operators and views, is not checked.
std::vector<UnprovedKernel> unproved_kernels(const Executable& executable);

// The provider (Implementation::provider) that unproved_kernels() uses to identify kernels with
// hand-written loops; empty if the compiler wrote them or all accesses are proved.
std::string provider_of_written(const tir::PrimFunc& implementation);

// Throws a UserError if a tensor program of the module provably accesses memory outside a buffer:
// program, access, dimension and the range of its index. `places` of its text may be null.
void refuse_accesses_outside(const Module& module, const std::string& source,
                             const text::SourceMap* places);

}  // namespace tapml::pipeline
