// Kernels: a spec (relax function) and its implementation (tensor program), see contract 2.
#pragma once

#include <string>

#include "ir/module.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::passes {

// Attributes of a kernel's spec.
inline constexpr const char* kKernelAttr = "kernel";
inline constexpr const char* kImplementationAttr = "implementation";
inline constexpr const char* kInoutAttr = "inout_indices";
// Attribute of an implementation.
inline constexpr const char* kSpecAttr = "spec";

bool is_kernel(const BaseFunction* function);

// The spec and implementation of kernel `name`; InternalError when there is no such kernel.
const relax::Function& kernel_spec(const Module& module, const std::string& name);
const tir::PrimFunc& kernel_implementation(const Module& module, const std::string& name);

// Names of a spec's operators in order: "matmul_silu_multiply", shortened past 48 characters.
std::string operators_of(const relax::Function& spec);

// Adds the pair under its `<ops>_<8 hex>` name, or finds the equal one that is there. `spec` has no
// implementation attribute yet. Returns the name.
std::string add_kernel(Module& module, relax::FunctionRef spec, tir::PrimFuncRef implementation);

}  // namespace tapml::passes
