// The tensor programs that copy between a view and a contiguous tensor.
#pragma once

#include <string>

#include "ir/module.h"
#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::passes {

// The positions of a view's elements in its base: the first one, and the stride of each axis.
struct ViewLocation {
  PrimExpr first;
  Dims strides;
};

// The elements of a view as a tensor: call_tir(@read_view_<dtype>_<rank>, (base,), ...). `base` is
// a vector of known shape, `result` the annotation of the tensor. Adds the program to `module`.
relax::Expr call_read_view(Module& module, const relax::Expr& base, const ViewLocation& place,
                           const relax::Annotation& result);

// Writes the elements of `values` to those of the view:
// call_tir_inplace(@write_view_<dtype>_<rank>, (base, values), ...). They must not share storage.
relax::Expr call_write_view(Module& module, const relax::Expr& base, const relax::Expr& values,
                            const ViewLocation& place);

// Whether `program` is one of these two: their accesses are checked where views are made.
bool is_copy_program(const tir::PrimFunc& program);

}  // namespace tapml::passes
