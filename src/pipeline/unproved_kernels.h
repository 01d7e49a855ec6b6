// Kernels that nobody has shown to stay inside of their buffers: code written by hand.
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
  std::string reason;  // "program f: x[idx[i]] may lie outside of x"
};

// Those of the executable: kernels of sources that a user wrote for the platform, of loops that a
// module's text has beside their specification, and of hand-written tensor programs, with an access
// that is not proved to lie inside of its buffer. What the compiler writes, of operators and of
// views, is not asked.
std::vector<UnprovedKernel> unproved_kernels(const Executable& executable);

// What unproved_kernels() knows a kernel by whose loops a person wrote (Implementation::provider);
// empty where the compiler wrote them or all accesses are proved.
std::string provider_of_written(const tir::PrimFunc& implementation);

// UserError where a tensor program of the module surely leaves a buffer: program, access, dimension
// and the range of its index. `places` of its text may be null.
void refuse_accesses_outside(const Module& module, const std::string& source,
                             const text::SourceMap* places);

}  // namespace tapml::pipeline
