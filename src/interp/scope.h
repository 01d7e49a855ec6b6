// The state of a running function of the interpreter.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "interp/item.h"
#include "ir/exceptions.h"
#include "relax/check_location.h"

namespace tapml::interp {

// Deeper nesting of calls is considered endless recursion.
inline constexpr int kMaxDepth = 1000;

struct Scope {
  std::string function;
  const relax::Function* running = nullptr;
  const relax::Binding* binding = nullptr;  // the current binding; null for the function's result
  std::map<const relax::VarNode*, Item> vars;
  Symbols symbols;
};

// Returns the result of `run` for `binding`. A UserError without a location gets the binding's.
template <class Run>
auto located(const relax::Binding* binding, Scope& scope, const Run& run) {
  const relax::Binding* outer = std::exchange(scope.binding, binding);
  try {
    auto result = run();
    scope.binding = outer;
    return result;
  } catch (const CompilerException& exception) {
    Error error = exception.error();
    if (error.kind != ErrorKind::kUser || !error.where.empty()) throw;
    error.where = binding ? relax::operation_location(*binding, scope.function)
                          : relax::result_location(scope.function);
    throw_error(std::move(error));
  }
}

}  // namespace tapml::interp
