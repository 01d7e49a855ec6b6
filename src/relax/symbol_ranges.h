// Which symbolic variables are sizes of tensors, determined by where they get their values.
#pragma once

#include <map>

#include "relax/expr.h"

namespace tapml::relax {

// The least values of the variables that `annotations` bind; the annotations are those of a
// function's parameters or of one match_cast. A variable that alone is a dimension of a tensor, or
// that such a dimension is solved for, is at least 0; n in n - 1 is at least 1. Host scalars and
// entries of shapes give no least value. Parameters of function annotations are ignored.
std::map<const tapml::ExprNode*, int64_t> least_values(const std::vector<Annotation>& annotations);

// Sets (ir/symbol.h) the least values of the fresh variables `made` that `annotations` bind.
void state_least_values(const std::vector<Var>& made, const std::vector<Annotation>& annotations);

// The annotations of the parameters of a function under construction.
std::vector<Annotation> annotations_of(const std::vector<Variable>& params);

// Whether the entries of the shape `value` are sizes of tensors, regardless of its annotation: the
// results of shape_of and tensor_to_shape have no negative entries.
bool gives_sizes(const Expr& value);
// `annotation` as one that binds sizes: a shape annotation becomes that of a tensor of the shape.
Annotation as_sizes(const Annotation& annotation);

}  // namespace tapml::relax
