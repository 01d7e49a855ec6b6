// The functions of a module that graph passes rewrite.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// The graph-level functions sorted by name, without kernels (their specs are fixed) and patterns
// (they compute nothing). Valid as long as the module.
std::vector<std::pair<std::string, const relax::Function*>> graph_functions(const Module& module);

// Whether the function's calls are to become one kernel (passes/outline_group.h).
bool is_fused(const relax::Function& function);

// A copy of `function` with another body.
relax::FunctionRef with_body(const relax::Function& function, relax::Expr body);

}  // namespace tapml::passes
