// Makes kernels of hand-written tensor programs: they are their own specification (contract 2).
#pragma once

#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// The most tensors that a program may have: the binding limit of the smallest platforms.
inline constexpr size_t kProgramTensors = 8;

// Whether `call` is a call_tir or call_tir_inplace of a tensor program without a spec.
bool calls_program(const Module& module, const relax::CallNode& call);

// Adds a kernel whose spec calls the program and whose implementation is a copy of it, and returns
// the call of that kernel that replaces the value of `binding`. The kernel is as general as the
// program: its dimensions are the program's. Where an argument's shape may differ from the
// program's signature, `before` receives match_casts that check it (`dataflow`: the binding is in a
// dataflow block); `out` is the annotation of the outputs as the program makes them, which may be
// spelled differently from the call's. UserError, which names the program, for arguments of unknown
// shape, for dimensions that are provably different, and for more than kProgramTensors tensors.
relax::Expr outline_program(Module& module, const relax::Binding& binding, bool dataflow,
                            std::vector<relax::Binding>& before, relax::Annotation& out);

}  // namespace tapml::passes
