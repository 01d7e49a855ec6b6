// Lowers planned graph-level functions to VM instructions.
#pragma once

#include <map>
#include <string>

#include "exec/executable.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::codegen {

// Symbols that the functions of an executable refer to.
struct VmContext {
  // Kernel name to its index in executable.kernels and its unscheduled implementation.
  struct Kernel {
    int32_t index = 0;
    const tir::PrimFunc* signature = nullptr;
  };
  std::map<std::string, Kernel> kernels;
  std::map<std::string, int32_t> functions;  // index in executable.functions
  // Entries that lower_function() added to the executable: constants by content hash, packed
  // functions by name.
  std::map<std::string, int32_t> constants, packed;
};

// Lowers `function` (after memory planning) and appends its call sites and constants to
// `executable`. Parameters and match_casts are checked at run time: a dimension that is a single
// variable defines a slot at its first occurrence; everything else must be equal.
VmFunction lower_function(const std::string& name, const relax::Function& function,
                          VmContext& context, Executable& executable);

}  // namespace tapml::codegen
