// What run-time checks know of a module's symbolic variables beyond their values.
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
  // Valid as long as the module.
  explicit ModuleSymbols(const Module& module);

  // The most that `var` may be in `function`, by the attribute "bound.<name>" of the function or
  // the module; nothing where there is none, as in what is or becomes a kernel, whose variables are
  // its own.
  std::optional<int64_t> most(const Var& var, const relax::Function& function) const;
  // Where `var`, as the function called `function` sees it, got its value.
  SymbolSource source(const Var& var, const std::string& function) const;

 private:
  struct Found {
    SymbolSource source;
    std::string function;
  };
  void find(const relax::Function& function, const std::string& name) const;

  const Module& module_;
  const bool bounded_;  // some function may have a bound
  mutable bool found_ = false;
  mutable std::map<const tapml::ExprNode*, Found> sources_;  // made when it is asked for
};

// The name of the function that the lambda in `binding` becomes in function `function`.
std::string lambda_name(const std::string& function, const relax::Binding& binding);

}  // namespace tapml::interp
