#include "build/annotations.h"

#include "op/shapes.h"
#include "relax/subtype.h"
#include "text/structural.h"

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

// What a function takes and returns, without the symbolic variables that its calls bind: each
// function has its own.
std::vector<Annotation> bare_signature(const CallableAnnotation& callable) {
  std::vector<Annotation> parts = callable.params;
  parts.push_back(callable.result);
  std::vector<Var> own, all;
  for (const Annotation& param : callable.params) collect_vars(param, own);
  for (const Annotation& part : parts) collect_vars(part, all);
  SymbolSet visible;
  for (const Var& var : all) visible.insert(var.get());
  for (const Var& var : own) visible.erase(var.get());
  for (Annotation& part : parts) part = restrict_vars(part, visible);
  return parts;
}

bool compatible_signatures(const CallableAnnotation& a, const CallableAnnotation& b) {
  if (a.params.size() != b.params.size()) return false;
  std::vector<Annotation> x = bare_signature(a), y = bare_signature(b);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!compatible(x[i], y[i])) return false;
  }
  return true;
}

Annotation join_signatures(const Annotation& a, const Annotation& b) {
  const auto *x = as_callable(a), *y = as_callable(b);
  if (text::structural_equal(a, b)) return a;
  if (x->params.size() != y->params.size()) return object_annotation();
  for (size_t i = 0; i < x->params.size(); ++i) {
    if (!text::structural_equal(x->params[i], y->params[i])) return object_annotation();
  }
  std::vector<Annotation> bare_x = bare_signature(*x), bare_y = bare_signature(*y);
  return callable_annotation(x->params, join(bare_x.back(), bare_y.back()), x->pure && y->pure);
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
  return compatible_signatures(*as_callable(a), *as_callable(b));
}

bool surely_fits(const Annotation& found, const Annotation& expected) {
  return is_subtype(found, expected, op::provably_equal);
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
  return a->kind == AnnotationKind::kCallable ? join_signatures(a, b) : object_annotation();
}

Annotation simplified(const Annotation& annotation) {
  auto all = [](const Dims& dims) {
    Dims result;
    for (const PrimExpr& dim : dims) result.push_back(op::simplified(dim));
    return result;
  };
  if (const auto* prim = as_prim(annotation)) {
    return prim->value ? prim_annotation(prim->dtype, op::simplified(prim->value)) : annotation;
  }
  if (const auto* shape = as_shape(annotation)) {
    return shape->dims ? shape_annotation(all(*shape->dims)) : annotation;
  }
  if (const auto* tensor = as_tensor(annotation)) {
    return tensor->shape ? tensor_annotation(all(*tensor->shape), tensor->dtype) : annotation;
  }
  if (const auto* tuple = as_tuple(annotation)) {
    std::vector<Annotation> fields;
    for (const Annotation& field : tuple->fields) fields.push_back(simplified(field));
    return tuple_annotation(std::move(fields));
  }
  return annotation;
}

Annotation restrict_vars(const Annotation& annotation, const SymbolSet& visible) {
  if (const auto* tuple = as_tuple(annotation)) {
    std::vector<Annotation> fields;
    for (const Annotation& field : tuple->fields) fields.push_back(restrict_vars(field, visible));
    return tuple_annotation(std::move(fields));
  }
  if (const auto* callable = as_callable(annotation)) {
    // Calls bind the variables of its parameters.
    std::vector<Var> own;
    for (const Annotation& param : callable->params) collect_vars(param, own);
    SymbolSet inside = visible;
    for (const Var& var : own) inside.insert(var.get());
    return callable_annotation(callable->params, restrict_vars(callable->result, inside),
                               callable->pure);
  }
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
