// Which symbolic variables are sizes of tensors, by the place that gives them their values.
#pragma once

#include <map>

#include "relax/expr.h"

namespace tapml::relax {

// The least values of the variables that `annotations` give, which are those of a function's
// parameters or of one match_cast. A variable that stands alone in a dimension of a tensor, or that
// such a dimension is solved for, is at least 0; one in n - 1 at least 1. Host scalars and entries
// of shapes say nothing of theirs. What functions among the annotations take is theirs.
std::map<const tapml::ExprNode*, int64_t> least_values(const std::vector<Annotation>& annotations);

// States (ir/symbol.h) what `annotations` say of those of `made`, fresh variables, that they give.
void state_least_values(const std::vector<Var>& made, const std::vector<Annotation>& annotations);

// The annotations of the parameters of a function that is being made.
std::vector<Annotation> annotations_of(const std::vector<Variable>& params);

// Whether the shape that `value` gives holds sizes of tensors, whatever it is annotated with: the
// entries of what shape_of and tensor_to_shape return are never negative.
bool gives_sizes(const Expr& value);
// `annotation` as one that gives sizes: of a shape, the tensor's that has it.
Annotation as_sizes(const Annotation& annotation);

}  // namespace tapml::relax
