// Checks values against annotations, over the symbolic variables of a scope.
#pragma once

#include <string>
#include <vector>

#include "abi/expected_text.h"
#include "interp/scope.h"
#include "tir/prim_func.h"

namespace tapml::interp {

// Checks everything whose variables have values; the rest is ignored. UserError at `place`.
void check(const ModuleSymbols& symbols, const relax::Annotation& annotation, const Item& item,
           const std::string& place, Scope& scope);

// The same for the annotations that a call states for its results.
void check_stated(const ModuleSymbols& symbols, const relax::CallNode& node, const Item& result,
                  const std::string& place, Scope& scope);

// Compares a tensor program's arguments with its signature, over the caller's variables. `node` is
// the value of the current binding.
void check_arguments(const ModuleSymbols& symbols, const tir::PrimFunc& program,
                     const relax::CallNode& node, const std::vector<Item>& args, Scope& scope);

// The sources of the variables in the first negative dimension of a tensor that cannot be created.
std::vector<SymbolValue> sources_of_negative(const ModuleSymbols& symbols,
                                             const relax::Annotation& annotation,
                                             const Scope& scope);

}  // namespace tapml::interp
