// Parts of functions that mutations read and build. Private to mutate/.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "relax/expr.h"
#include "relax/visit.h"

namespace tapml::fuzz {

// The functions that mutations may change: graph-level ones that are neither kernels nor patterns.
std::vector<std::string> graph_functions_of(const Module& module);

// Parameters like those of `function`, with symbolic variables of their own.
struct OwnParams {
  std::vector<relax::Variable> params;
  std::vector<relax::Expr> args() const { return {params.begin(), params.end()}; }
};
OwnParams own_params(const relax::Function& function);

// A function with one plain block and these bindings, whose values are deduced in order; it returns
// the last one.
struct Body {
  explicit Body(const Module& module) : module(module) {}
  relax::Variable bind(relax::Expr value, const std::string& name);
  relax::FunctionRef function(std::vector<relax::Variable> params, bool pure) const;

  const Module& module;
  std::vector<relax::Binding> bindings;
};

// The function with another body.
relax::FunctionRef with_blocks(const relax::Function& function, std::vector<relax::Block> blocks,
                               relax::Expr result);

// Replaces the callee @from of calls in `function` by @to.
relax::FunctionRef redirected(const relax::FunctionRef& function, const std::string& from,
                              const std::string& to);

// Variables that the expression reads, in order of first occurrence.
std::vector<relax::Variable> variables_of(const relax::Expr& expr);

}  // namespace tapml::fuzz
