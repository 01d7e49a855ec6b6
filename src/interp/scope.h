// What a running function of the interpreter knows.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "interp/item.h"
#include "ir/exceptions.h"
#include "relax/check_location.h"

namespace tapml::interp {

// Calls in calls beyond this are taken for endless recursion.
inline constexpr int kMaxDepth = 1000;

struct Scope {
  std::string function;
  const relax::Function* running = nullptr;
  const relax::Binding* binding = nullptr;  // whose value is at hand; null: the function's result
  std::map<const relax::VarNode*, Item> vars;
  Symbols symbols;
};

// What `run` computes for `binding`. A UserError that names no place gets this one.
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
