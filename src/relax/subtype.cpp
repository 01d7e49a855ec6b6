#include "relax/subtype.h"

#include <algorithm>

#include "arith/analyzer.h"

namespace tapml::relax {

namespace {

bool are_certain(const std::optional<Dims>& found, const std::optional<Dims>& declared,
                 const ProveEqual& equal) {
  if (!declared) return true;
  return found &&
         std::equal(found->begin(), found->end(), declared->begin(), declared->end(), equal);
}

}  // namespace

bool always_equal(const PrimExpr& a, const PrimExpr& b) {
  return same_expr(a, b) || arith::Analyzer().prove_equal(a, b);
}

bool is_subtype(const Annotation& found, const Annotation& declared, const ProveEqual& equal) {
  if (!declared || declared->kind == AnnotationKind::kObject) return true;
  if (!found || found->kind != declared->kind) return false;
  if (const auto* tensor = as_tensor(declared)) {
    const auto* own = as_tensor(found);
    return (!tensor->dtype || own->dtype == tensor->dtype) &&
           (tensor->ndim == kUnknownNdim || own->ndim == tensor->ndim) &&
           are_certain(own->shape, tensor->shape, equal);
  }
  if (const auto* shape = as_shape(declared)) {
    const auto* own = as_shape(found);
    return (shape->ndim == kUnknownNdim || own->ndim == shape->ndim) &&
           are_certain(own->dims, shape->dims, equal);
  }
  if (const auto* prim = as_prim(declared)) {
    const auto* own = as_prim(found);
    if (own->dtype != prim->dtype) return false;
    return !prim->value || (own->value && equal(own->value, prim->value));
  }
  if (const auto* tuple = as_tuple(declared)) {
    const auto* own = as_tuple(found);
    if (own->fields.size() != tuple->fields.size()) return false;
    for (size_t i = 0; i < tuple->fields.size(); ++i) {
      if (!is_subtype(own->fields[i], tuple->fields[i], equal)) return false;
    }
    return true;
  }
  const auto *callable = as_callable(declared), *own = as_callable(found);
  return own->params.size() == callable->params.size() && (own->pure || !callable->pure);
}

}  // namespace tapml::relax
