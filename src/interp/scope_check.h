// Checks of values against annotations, over the symbolic variables of a scope.
#pragma once

#include <string>
#include <vector>

#include "abi/expected_text.h"
#include "interp/scope.h"
#include "tir/prim_func.h"

namespace tapml::interp {

// Checks what is known to be known: variables without a value say nothing. UserError at `place`.
void check(const ModuleSymbols& symbols, const relax::Annotation& annotation, const Item& item,
           const std::string& place, Scope& scope);

// The same of the annotations that a call states for its results.
void check_stated(const ModuleSymbols& symbols, const relax::CallNode& node, const Item& result,
                  const std::string& place, Scope& scope);

// Compares a tensor program's arguments with its signature, over the caller's variables. `node` is
// the value of the binding at hand.
void check_arguments(const ModuleSymbols& symbols, const tir::PrimFunc& program,
                     const relax::CallNode& node, const std::vector<Item>& args, Scope& scope);

// Where the variables in the first negative dimension of what cannot be made got their values.
std::vector<SymbolValue> sources_of_negative(const ModuleSymbols& symbols,
                                             const relax::Annotation& annotation,
                                             const Scope& scope);

}  // namespace tapml::interp
