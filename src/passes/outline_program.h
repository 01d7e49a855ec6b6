// Hand-written tensor programs as kernels: they are their own specification (contract 2).
#pragma once

#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Tensors that a program may have: what the smallest platforms bind.
inline constexpr size_t kProgramTensors = 8;

// Whether `call` is a call_tir or call_tir_inplace of a tensor program that has no spec.
bool calls_program(const Module& module, const relax::CallNode& call);

// Adds a kernel whose spec calls the program and whose implementation is a copy of it, and returns
// the call of that kernel in place of the one that is the value of `binding`. The kernel is as
// general as the program: its dimensions are the program's. Where an argument's shape is not known
// to be what the program's signature says of it, `before` receives match_casts that check
// (`dataflow`: the binding stands in a dataflow block); `out` is the annotation of the outputs as
// the program makes them, which may be another spelling of the call's own. UserError, which names
// the program, for arguments of unknown shape, for dimensions that are provably different, and for
// more than kProgramTensors tensors.
relax::Expr outline_program(Module& module, const relax::Binding& binding, bool dataflow,
                            std::vector<relax::Binding>& before, relax::Annotation& out);

}  // namespace tapml::passes
