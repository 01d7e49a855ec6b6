// Planned graph-level functions to the virtual machine's instructions.
#pragma once

#include <map>
#include <string>

#include "exec/executable.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::codegen {

// What the functions of an executable refer to.
struct VmContext {
  // Kernel name to its index in executable.kernels and its implementation before scheduling.
  struct Kernel {
    int32_t index = 0;
    const tir::PrimFunc* signature = nullptr;
  };
  std::map<std::string, Kernel> kernels;
  std::map<std::string, int32_t> functions;  // index in executable.functions
  // Of what lower_function() has added to the executable: constants by their content hash, names of
  // packed functions.
  std::map<std::string, int32_t> constants, packed;
};

// Lowers `function` (after memory planning) and appends its call sites and constants to
// `executable`. Parameters and match_casts are checked at run time: symbolic dimensions that stand
// alone define slots at their first occurrence, everything else must be equal.
VmFunction lower_function(const std::string& name, const relax::Function& function,
                          VmContext& context, Executable& executable);

}  // namespace tapml::codegen
