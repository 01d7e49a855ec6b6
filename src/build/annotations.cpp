#include "build/annotations.h"

#include "op/shapes.h"

namespace tapml::build {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool compatible_dims(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (op::provably_different(a[i], b[i])) return false;
  }
  return true;
}

bool compatible_ranks(int a, int b) { return a == kUnknownNdim || b == kUnknownNdim || a == b; }

bool equal_dims(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!op::provably_equal(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

bool compatible(const Annotation& a, const Annotation& b) {
  if (a->kind == AnnotationKind::kObject || b->kind == AnnotationKind::kObject) return true;
  if (a->kind != b->kind) return false;
  if (const auto* x = as_prim(a)) {
    const auto* y = as_prim(b);
    if (x->dtype != y->dtype) return false;
    return !x->value || !y->value || !op::provably_different(x->value, y->value);
  }
  if (const auto* x = as_shape(a)) {
    const auto* y = as_shape(b);
    if (!compatible_ranks(x->ndim, y->ndim)) return false;
    return !x->dims || !y->dims || compatible_dims(*x->dims, *y->dims);
  }
  if (const auto* x = as_tensor(a)) {
    const auto* y = as_tensor(b);
    if (x->dtype && y->dtype && *x->dtype != *y->dtype) return false;
    if (!compatible_ranks(x->ndim, y->ndim)) return false;
    return !x->shape || !y->shape || compatible_dims(*x->shape, *y->shape);
  }
  if (const auto* x = as_tuple(a)) {
    const auto* y = as_tuple(b);
    if (x->fields.size() != y->fields.size()) return false;
    for (size_t i = 0; i < x->fields.size(); ++i) {
      if (!compatible(x->fields[i], y->fields[i])) return false;
    }
    return true;
  }
  return as_callable(a)->params.size() == as_callable(b)->params.size();
}

Annotation join(const Annotation& a, const Annotation& b) {
  if (a->kind != b->kind) return object_annotation();
  if (const auto* x = as_prim(a)) {
    const auto* y = as_prim(b);
    if (x->dtype != y->dtype) return object_annotation();
    bool same = x->value && y->value && op::provably_equal(x->value, y->value);
    return prim_annotation(x->dtype, same ? x->value : PrimExpr());
  }
  if (const auto* x = as_shape(a)) {
    const auto* y = as_shape(b);
    if (x->dims && y->dims && equal_dims(*x->dims, *y->dims)) return a;
    return shape_annotation_ndim(x->ndim == y->ndim ? x->ndim : kUnknownNdim);
  }
  if (const auto* x = as_tensor(a)) {
    const auto* y = as_tensor(b);
    std::optional<DType> dtype = x->dtype == y->dtype ? x->dtype : std::nullopt;
    if (x->shape && y->shape && equal_dims(*x->shape, *y->shape)) {
      return tensor_annotation(*x->shape, dtype);
    }
    return tensor_annotation_ndim(x->ndim == y->ndim ? x->ndim : kUnknownNdim, dtype);
  }
  if (const auto* x = as_tuple(a)) {
    const auto* y = as_tuple(b);
    if (x->fields.size() != y->fields.size()) return object_annotation();
    std::vector<Annotation> fields;
    for (size_t i = 0; i < x->fields.size(); ++i) {
      fields.push_back(join(x->fields[i], y->fields[i]));
    }
    return tuple_annotation(std::move(fields));
  }
  return a->kind == AnnotationKind::kCallable && to_string(a) == to_string(b) ? a
                                                                              : object_annotation();
}

Annotation restrict_vars(const Annotation& annotation, const SymbolSet& visible) {
  if (const auto* tuple = as_tuple(annotation)) {
    std::vector<Annotation> fields;
    for (const Annotation& field : tuple->fields) fields.push_back(restrict_vars(field, visible));
    return tuple_annotation(std::move(fields));
  }
  // Variables of a callable's own parameters are bound by its calls.
  if (annotation->kind == AnnotationKind::kCallable) return annotation;
  std::vector<Var> vars;
  collect_vars(annotation, vars);
  bool all_visible = true;
  for (const Var& var : vars) all_visible &= visible.contains(var.get());
  if (all_visible) return annotation;
  if (const auto* prim = as_prim(annotation)) return prim_annotation(prim->dtype);
  if (const auto* shape = as_shape(annotation)) return shape_annotation_ndim(shape->ndim);
  const auto* tensor = as_tensor(annotation);
  return tensor_annotation_ndim(tensor->ndim, tensor->dtype);
}

}  // namespace tapml::build
