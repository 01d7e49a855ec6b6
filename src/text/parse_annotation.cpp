// Annotations.
#include <algorithm>

#include "text/parser_impl.h"

namespace tapml::text {

using namespace relax;  // NOLINT: every name below is one of relax's

bool Parser::at_annotation() const {
  return at("Tensor") || at("Shape") || at("Tuple") || at("Callable") || at("Object") || at("Prim");
}

Sized<std::vector<Annotation>> Parser::annotation_list() {
  Sized<std::vector<Annotation>> list{{}, 0};
  expect("(");
  while (!accept(")")) {
    Sized<Annotation> item = annotation();
    list.depth = std::max(list.depth, item.depth);
    list.value.push_back(std::move(item.value));
    if (!at(")") && !accept(",")) unexpected("',' or ')'");
  }
  return list;
}

Sized<Annotation> Parser::annotation() {
  Recursion recursion(*this, expr_depth_);
  const Token& place = peek();
  if (accept("Object")) return {object_annotation()};
  if (accept("Tensor")) return tensor_annotation();
  if (accept("Shape")) return shape_annotation();
  if (accept("Callable")) return callable_annotation();
  if (accept("Tuple")) {
    auto fields = annotation_list();
    return {tuple_annotation(std::move(fields.value)), deeper(place, fields.depth)};
  }
  if (accept("Prim")) {
    expect("(");
    DType type = dtype();
    PrimExpr value;
    if (accept(",")) {
      // A name that is bound by this annotation has the annotation's dtype.
      DType outer = unknown_dtype_;
      unknown_dtype_ = type;
      value = scalar();
      unknown_dtype_ = outer;
    }
    expect(")");
    return {prim_annotation(type, std::move(value))};
  }
  unexpected("an annotation: Tensor, Shape, Prim, Tuple, Callable or Object");
}

Sized<Annotation> Parser::tensor_annotation() {
  expect("(");
  std::optional<Dims> shape;
  int ndim = kUnknownNdim;
  std::optional<DType> type;
  bool has_first = true;
  if (at("(")) {
    shape = dims();
  } else if (accept("ndim")) {
    expect("=");
    ndim = small_integer("the number of dimensions");
  } else {
    has_first = false;
    if (!at(")")) {
      if (!peek_dtype()) unexpected("a shape such as (n, 4), ndim=2, a dtype or ')'");
      type = dtype();
    }
  }
  if (has_first && accept(",")) type = dtype();
  expect(")");
  return {shape ? relax::tensor_annotation(std::move(*shape), type)
                : tensor_annotation_ndim(ndim, type)};
}

Sized<Annotation> Parser::shape_annotation() {
  expect("(");
  Annotation result;
  if (at("(")) {
    result = relax::shape_annotation(dims());
  } else if (accept("ndim")) {
    expect("=");
    result = shape_annotation_ndim(small_integer("the number of dimensions"));
  } else {
    result = shape_annotation_ndim();
  }
  expect(")");
  return {std::move(result)};
}

Sized<Annotation> Parser::callable_annotation() {
  const Token& place = expect("(");
  // A callable's parameters bind symbolic variables of their own.
  UnknownScalar outer = unknown_;
  unknown_ = UnknownScalar::kBind;
  scope_.push();
  auto params = annotation_list();
  unknown_ = UnknownScalar::kError;
  expect(",", "the parameters");
  Sized<Annotation> result = annotation();
  unknown_ = outer;
  scope_.pop();
  bool pure = true;
  if (accept(",")) {
    expect("impure");
    pure = false;
  }
  expect(")");
  return {relax::callable_annotation(std::move(params.value), std::move(result.value), pure),
          deeper(place, std::max(params.depth, result.depth))};
}

}  // namespace tapml::text
