// Kernels: a spec (relax function) and its implementation (tensor program), see contract 2.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::passes {

// Attribute of call_tir_inplace, and of a spec (FunctionFacts::inout_indices).
inline constexpr const char* kInoutAttr = "inout_indices";

bool is_kernel(const BaseFunction* function);

// The spec and implementation of kernel `name`; InternalError if there is no such kernel.
const relax::Function& kernel_spec(const Module& module, const std::string& name);
const tir::PrimFunc& kernel_implementation(const Module& module, const std::string& name);

// A copy that is marked as hand-written.
tir::PrimFuncRef mark_written(const tir::PrimFunc& implementation);

// Hand-written tensor programs that a spec calls, each once, in order. A kernel's text consists of
// its spec, its implementation and these.
std::vector<std::string> programs_of(const relax::Function& spec);

// A module with the spec, implementation and programs of kernel `name` alone.
Module kernel_alone(const Module& module, const std::string& name);

// Names of a spec's operators (and programs) in order: "matmul_silu_multiply". Ends in "_etc" once
// it exceeds 48 characters.
std::string operators_of(const relax::Function& spec);

// Adds the pair as `<ops>_<8 hex>`, or finds an equal kernel. `spec` has no implementation
// attribute yet; the programs that it calls are in `module`, and the hash covers what they compute.
// Returns the name.
std::string add_kernel(Module& module, relax::FunctionRef spec, tir::PrimFuncRef implementation);

}  // namespace tapml::passes
