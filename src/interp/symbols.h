// Bounds and sources of a module's symbolic variables, for run-time checks.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "abi/expected_text.h"
#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::interp {

class ModuleSymbols {
 public:
  // Must not outlive the module.
  explicit ModuleSymbols(const Module& module);

  // The upper bound of `var` in `function`, from the attribute "bound.<name>" of the function or
  // the module; std::nullopt if there is none, as in functions that are or become kernels, whose
  // variables are local.
  std::optional<int64_t> most(const Var& var, const relax::Function& function) const;
  // Where `var`, in the function `function`, got its value.
  SymbolSource source(const Var& var, const std::string& function) const;

 private:
  struct Found {
    SymbolSource source;
    std::string function;
  };
  void find(const relax::Function& function, const std::string& name) const;

  const Module& module_;
  const bool bounded_;  // whether any function may have a bound
  mutable bool found_ = false;
  mutable std::map<const tapml::ExprNode*, Found> sources_;  // computed on first use
};

// The name of the function that the lambda in `binding` becomes in function `function`.
std::string lambda_name(const std::string& function, const relax::Binding& binding);

}  // namespace tapml::interp
