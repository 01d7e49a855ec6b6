#include <algorithm>
#include <numeric>

#include "fuzz/language/language.h"

namespace tapml::fuzz {

using relax::Expr;
using relax::Variable;

// Another view of the storage of `of`; nothing if none is found.
std::optional<LanguageGenerator::Written> LanguageGenerator::view(const Written& of, Scope& scope) {
  const std::vector<int64_t>& dims = of.type.dims;
  if (dims.empty()) return std::nullopt;
  Written seen = of;
  Expr value;
  switch (below(3)) {
    case 0: {
      std::vector<int64_t> axes(dims.size());
      std::iota(axes.begin(), axes.end(), 0);
      for (size_t i = axes.size(); i > 1; --i) std::swap(axes[i - 1], axes[below(i)]);
      for (size_t i = 0; i < axes.size(); ++i) {
        seen.type.dims[i] = dims[static_cast<size_t>(axes[i])];
      }
      seen.compact = of.compact && std::is_sorted(axes.begin(), axes.end());
      value = relax::make_op_call("view_transpose", {of.tensor}, {{"axes", axes}});
      break;
    }
    case 1: {
      if (!of.compact) return std::nullopt;
      if (dims.size() == 1) {
        seen.type.dims = {1, dims[0]};
      } else if (chance(0.5)) {
        std::reverse(seen.type.dims.begin(), seen.type.dims.end());
      } else {
        seen.type.dims = {
            std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>())};
      }
      value = relax::make_op_call(
          "view_reshape", {of.tensor, relax::make_shape(dims_of(seen.type.dims, scope, false))});
      break;
    }
    default: {
      std::vector<int64_t> begin(dims.size(), 0);
      // The rows of a tensor are contiguous.
      const size_t cut = of.compact && chance(0.5) ? 1 : dims.size();
      for (size_t i = 0; i < cut; ++i) {
        seen.type.dims[i] = chance(0.1) ? 0 : rng_.between(std::min<int64_t>(1, dims[i]), dims[i]);
        begin[i] = rng_.between(0, dims[i] - seen.type.dims[i]);
      }
      seen.compact = of.compact && cut == 1;
      value = relax::make_op_call("view_slice",
                                  {of.tensor, relax::make_shape(dims_of(begin, scope, false)),
                                   relax::make_shape(dims_of(seen.type.dims, scope, false))});
    }
  }
  seen.tensor = bind(scope, value, "view");
  return seen;
}

bool LanguageGenerator::write(Scope& scope) {
  if (!options_.storage || scope.pure || scope.dataflow) return false;
  Written target;
  if (!scope.written.empty() && chance(0.4)) {
    target = op::pick(scope.written, rng_);
  } else {
    target.type = {Kind::kTensor, DType::kF32, {op::pick(extents_, rng_)}, {}, true};
    for (uint32_t i = below(3); i > 0; --i) target.type.dims.push_back(op::pick(extents_, rng_));
    target.tensor = bind(scope, relax::make_op_call("copy", {value_of(target.type, scope)}), "own");
    keep(scope, target.tensor, target.type);
    scope.written.push_back(target);
  }
  for (uint32_t i = below(3); i > 0; --i) {
    auto seen = view(target, scope);
    if (!seen) continue;
    target = *seen;
    if (!chance(0.5)) continue;
    keep(scope, target.tensor, target.type);
    scope.written.push_back(target);
  }
  Type part = target.type;
  if (chance(0.5)) {
    bind(scope, relax::make_op_call("assign", {target.tensor, value_of(part, scope)}), "w");
    return true;
  }
  std::vector<int64_t> begin;
  for (int64_t& dim : part.dims) {
    const int64_t size = chance(0.1) ? 0 : rng_.between(std::min<int64_t>(1, dim), dim);
    begin.push_back(rng_.between(0, dim - size));
    dim = size;
  }
  Expr source = value_of(part, scope);
  bind(scope,
       relax::make_op_call("assign_slice", {target.tensor, source,
                                            relax::make_shape(dims_of(begin, scope, false))}),
       "w");
  return true;
}

}  // namespace tapml::fuzz
