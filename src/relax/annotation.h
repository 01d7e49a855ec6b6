// Annotations: what is known about a value at compile time (Relax paper, section 3.1).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/expr.h"

namespace tapml::relax {

enum class AnnotationKind : uint8_t { kObject, kPrim, kShape, kTensor, kTuple, kCallable };

struct AnnotationNode {
  explicit AnnotationNode(AnnotationKind kind) : kind(kind) {}
  virtual ~AnnotationNode() = default;
  AnnotationKind kind;
};
// Never null on a variable: the coarsest annotation is Object.
using Annotation = std::shared_ptr<const AnnotationNode>;

// Any value.
struct ObjectAnnotation : AnnotationNode {
  ObjectAnnotation() : AnnotationNode(AnnotationKind::kObject) {}
};

// A host scalar; its value is known if `value` is set.
struct PrimAnnotation : AnnotationNode {
  PrimAnnotation() : AnnotationNode(AnnotationKind::kPrim) {}
  DType dtype = DType::kI64;
  PrimExpr value;  // may be null
};

constexpr int kUnknownNdim = -1;

// A shape value: Shape((n, 4)), Shape(ndim=2), Shape().
struct ShapeAnnotation : AnnotationNode {
  ShapeAnnotation() : AnnotationNode(AnnotationKind::kShape) {}
  std::optional<Dims> dims;
  int ndim = kUnknownNdim;
};

// Tensor((n, 4), f32), Tensor(ndim=2, f32), Tensor(f32), Tensor().
struct TensorAnnotation : AnnotationNode {
  TensorAnnotation() : AnnotationNode(AnnotationKind::kTensor) {}
  std::optional<Dims> shape;
  int ndim = kUnknownNdim;
  std::optional<DType> dtype;
};

struct TupleAnnotation : AnnotationNode {
  TupleAnnotation() : AnnotationNode(AnnotationKind::kTuple) {}
  std::vector<Annotation> fields;
};

// A function value; symbolic variables of `params` are bound by the call.
struct CallableAnnotation : AnnotationNode {
  CallableAnnotation() : AnnotationNode(AnnotationKind::kCallable) {}
  std::vector<Annotation> params;
  Annotation result;
  bool pure = true;
};

Annotation object_annotation();
Annotation prim_annotation(DType dtype, PrimExpr value = PrimExpr());
Annotation shape_annotation(Dims dims);
Annotation shape_annotation_ndim(int ndim = kUnknownNdim);
Annotation tensor_annotation(Dims shape, std::optional<DType> dtype);
Annotation tensor_annotation_ndim(int ndim, std::optional<DType> dtype);
Annotation tuple_annotation(std::vector<Annotation> fields);
Annotation callable_annotation(std::vector<Annotation> params, Annotation result, bool pure = true);

// The node as its type, or null if it is of another kind.
const PrimAnnotation* as_prim(const Annotation& annotation);
const ShapeAnnotation* as_shape(const Annotation& annotation);
const TensorAnnotation* as_tensor(const Annotation& annotation);
const TupleAnnotation* as_tuple(const Annotation& annotation);
const CallableAnnotation* as_callable(const Annotation& annotation);

// Replaces symbolic variables in every expression inside.
Annotation substitute(const Annotation& annotation, const VarMap& values);

using SymbolMap = std::function<PrimExpr(const PrimExpr&)>;
// Replaces every dimension and prim value by f's result, also in the parameters of function
// annotations.
Annotation map_symbols(const Annotation& annotation, const SymbolMap& f);
// Symbolic variables in order of first occurrence.
void collect_vars(const Annotation& annotation, std::vector<Var>& into);

// For messages: "Tensor((n, 4), f32)".
std::string to_string(const Annotation& annotation);

}  // namespace tapml::relax
