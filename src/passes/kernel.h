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

// The spec and implementation of kernel `name`; InternalError when there is no such kernel.
const relax::Function& kernel_spec(const Module& module, const std::string& name);
const tir::PrimFunc& kernel_implementation(const Module& module, const std::string& name);

// A copy that is marked as written by a person.
tir::PrimFuncRef mark_written(const tir::PrimFunc& implementation);

// Hand-written tensor programs that a spec calls, each once, in order: with the spec and its
// implementation they are what a kernel's text holds.
std::vector<std::string> programs_of(const relax::Function& spec);

// Spec, implementation and programs of kernel `name`, and nothing else.
Module kernel_alone(const Module& module, const std::string& name);

// Names of a spec's operators (and programs) in order: "matmul_silu_multiply", shortened past 48
// characters.
std::string operators_of(const relax::Function& spec);

// Adds the pair under its `<ops>_<8 hex>` name, or finds the equal one that is there. `spec` has no
// implementation attribute yet; the programs that it calls are in `module`, and the name covers
// what they compute. Returns the name.
std::string add_kernel(Module& module, relax::FunctionRef spec, tir::PrimFuncRef implementation);

}  // namespace tapml::passes
