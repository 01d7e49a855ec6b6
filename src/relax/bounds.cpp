#include "relax/bounds.h"

#include <algorithm>

#include "relax/memory.h"
#include "relax/rewrite.h"

namespace tapml::relax {

std::optional<int64_t> bound_of(const std::string& name, const Module& module,
                                const Function& function) {
  const std::string key = kBoundPrefix + name;
  std::optional<int64_t> most;
  for (const AttrMap* attrs : {&module.attrs, &function.attrs}) {
    const auto* bound = find_attr<int64_t>(*attrs, key);
    if (bound && *bound >= 0) most = most ? std::min(*most, *bound) : *bound;
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

bool has_bounds(const AttrMap& attrs) {
  auto first = attrs.lower_bound(kBoundPrefix);
  return first != attrs.end() && first->first.starts_with(kBoundPrefix);
}

}  // namespace tapml::relax
