#include "relax/annotation.h"

#include "base/strings.h"

namespace tapml::relax {

Annotation object_annotation() { return std::make_shared<ObjectAnnotation>(); }

Annotation prim_annotation(DType dtype, PrimExpr value) {
  auto node = std::make_shared<PrimAnnotation>();
  node->dtype = dtype;
  node->value = std::move(value);
  return node;
}

Annotation shape_annotation(Dims dims) {
  auto node = std::make_shared<ShapeAnnotation>();
  node->ndim = static_cast<int>(dims.size());
  node->dims = std::move(dims);
  return node;
}

Annotation shape_annotation_ndim(int ndim) {
  auto node = std::make_shared<ShapeAnnotation>();
  node->ndim = ndim;
  return node;
}

Annotation tensor_annotation(Dims shape, std::optional<DType> dtype) {
  auto node = std::make_shared<TensorAnnotation>();
  node->ndim = static_cast<int>(shape.size());
  node->shape = std::move(shape);
  node->dtype = dtype;
  return node;
}

Annotation tensor_annotation_ndim(int ndim, std::optional<DType> dtype) {
  auto node = std::make_shared<TensorAnnotation>();
  node->ndim = ndim;
  node->dtype = dtype;
  return node;
}

Annotation tuple_annotation(std::vector<Annotation> fields) {
  auto node = std::make_shared<TupleAnnotation>();
  node->fields = std::move(fields);
  return node;
}

Annotation callable_annotation(std::vector<Annotation> params, Annotation result, bool pure) {
  auto node = std::make_shared<CallableAnnotation>();
  node->params = std::move(params);
  node->result = std::move(result);
  node->pure = pure;
  return node;
}

namespace {
template <class T>
const T* as_kind(const Annotation& annotation, AnnotationKind kind) {
  return annotation && annotation->kind == kind ? static_cast<const T*>(annotation.get()) : nullptr;
}

std::string dims_text(const Dims& dims) {
  const auto text = [](const PrimExpr& dim) { return to_string(dim); };
  return "(" + join(dims, text) + (dims.size() == 1 ? ",)" : ")");
}
}  // namespace

const PrimAnnotation* as_prim(const Annotation& a) {
  return as_kind<PrimAnnotation>(a, AnnotationKind::kPrim);
}
const ShapeAnnotation* as_shape(const Annotation& a) {
  return as_kind<ShapeAnnotation>(a, AnnotationKind::kShape);
}
const TensorAnnotation* as_tensor(const Annotation& a) {
  return as_kind<TensorAnnotation>(a, AnnotationKind::kTensor);
}
const TupleAnnotation* as_tuple(const Annotation& a) {
  return as_kind<TupleAnnotation>(a, AnnotationKind::kTuple);
}
const CallableAnnotation* as_callable(const Annotation& a) {
  return as_kind<CallableAnnotation>(a, AnnotationKind::kCallable);
}

Annotation map_symbols(const Annotation& annotation, const SymbolMap& f) {
  auto dims = [&](const Dims& source) {
    Dims result;
    result.reserve(source.size());
    for (const PrimExpr& dim : source) result.push_back(f(dim));
    return result;
  };
  auto list = [&](const std::vector<Annotation>& annotations) {
    std::vector<Annotation> result;
    result.reserve(annotations.size());
    for (const Annotation& a : annotations) result.push_back(map_symbols(a, f));
    return result;
  };
  if (const auto* prim = as_prim(annotation)) {
    return prim->value ? prim_annotation(prim->dtype, f(prim->value)) : annotation;
  }
  if (const auto* shape = as_shape(annotation)) {
    return shape->dims ? shape_annotation(dims(*shape->dims)) : annotation;
  }
  if (const auto* tensor = as_tensor(annotation)) {
    return tensor->shape ? tensor_annotation(dims(*tensor->shape), tensor->dtype) : annotation;
  }
  if (const auto* tuple = as_tuple(annotation)) return tuple_annotation(list(tuple->fields));
  if (const auto* callable = as_callable(annotation)) {
    return callable_annotation(list(callable->params), map_symbols(callable->result, f),
                               callable->pure);
  }
  return annotation;
}

Annotation substitute(const Annotation& annotation, const VarMap& values) {
  if (!annotation || values.empty()) return annotation;
  return map_symbols(annotation,
                     [&](const PrimExpr& expr) { return tapml::substitute(expr, values); });
}

void collect_vars(const Annotation& annotation, std::vector<Var>& into) {
  if (!annotation) return;
  if (const auto* prim = as_prim(annotation)) {
    if (prim->value) tapml::collect_vars(prim->value, into);
  } else if (const auto* shape = as_shape(annotation)) {
    if (shape->dims) {
      for (const PrimExpr& dim : *shape->dims) tapml::collect_vars(dim, into);
    }
  } else if (const auto* tensor = as_tensor(annotation)) {
    if (tensor->shape) {
      for (const PrimExpr& dim : *tensor->shape) tapml::collect_vars(dim, into);
    }
  } else if (const auto* tuple = as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) collect_vars(field, into);
  } else if (const auto* callable = as_callable(annotation)) {
    for (const Annotation& param : callable->params) collect_vars(param, into);
    collect_vars(callable->result, into);
  }
}

std::string to_string(const Annotation& annotation) {
  if (!annotation) return "<unknown>";
  auto list = [](const std::vector<Annotation>& items) {
    std::string text;
    for (size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + to_string(items[i]);
    return text;
  };
  switch (annotation->kind) {
    case AnnotationKind::kObject:
      return "Object";
    case AnnotationKind::kPrim: {
      const auto* prim = as_prim(annotation);
      std::string text = std::string("Prim(") + dtype_name(prim->dtype);
      return text + (prim->value ? ", " + to_string(prim->value) : "") + ")";
    }
    case AnnotationKind::kShape: {
      const auto* shape = as_shape(annotation);
      if (shape->dims) return "Shape(" + dims_text(*shape->dims) + ")";
      return shape->ndim == kUnknownNdim ? "Shape()"
                                         : "Shape(ndim=" + std::to_string(shape->ndim) + ")";
    }
    case AnnotationKind::kTensor: {
      const auto* tensor = as_tensor(annotation);
      std::string text = "Tensor(";
      if (tensor->shape) {
        text += dims_text(*tensor->shape);
      } else if (tensor->ndim != kUnknownNdim) {
        text += "ndim=" + std::to_string(tensor->ndim);
      }
      if (tensor->dtype) {
        text += (text.back() == '(' ? "" : ", ") + std::string(dtype_name(*tensor->dtype));
      }
      return text + ")";
    }
    case AnnotationKind::kTuple:
      return "Tuple(" + list(as_tuple(annotation)->fields) + ")";
    case AnnotationKind::kCallable: {
      const auto* callable = as_callable(annotation);
      return "Callable((" + list(callable->params) + "), " + to_string(callable->result) +
             (callable->pure ? ")" : ", impure)");
    }
  }
  return "<unknown>";
}

}  // namespace tapml::relax
