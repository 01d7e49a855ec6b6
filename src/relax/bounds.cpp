#include "relax/bounds.h"

#include <algorithm>

#include "relax/memory.h"

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

bool has_bounds(const AttrMap& attrs) {
  auto first = attrs.lower_bound(kBoundPrefix);
  return first != attrs.end() && first->first.starts_with(kBoundPrefix);
}

}  // namespace tapml::relax
