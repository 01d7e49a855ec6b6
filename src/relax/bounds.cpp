#include "relax/bounds.h"

#include <algorithm>

#include "relax/rewrite.h"

namespace tapml::relax {

std::optional<int64_t> bound_of(const std::string& name, const Module& module,
                                const Function& function) {
  std::optional<int64_t> most;
  for (const SymbolBounds* bounds : {&module.facts.bounds, &function.facts.bounds}) {
    const auto bound = bounds->find(name);
    if (bound == bounds->end() || bound->second < 0) continue;
    most = most ? std::min(*most, bound->second) : bound->second;
  }
  return most;
}

bool keeps_bound(const PrimExpr& value, const std::string& name, int64_t most) {
  return value.is_int() ? value->int_value <= most : value.is_var() && value->name == name;
}

std::set<std::string> symbol_names(const Function& function) {
  std::set<std::string> names;
  map_symbols(function, [&](const PrimExpr& expr) {
    for (const Var& var : free_vars(expr)) names.insert(var->name);
    return expr;
  });
  return names;
}

}  // namespace tapml::relax
