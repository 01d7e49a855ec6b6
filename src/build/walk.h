// Deduction over whole functions: bindings in order, with the symbolic variables that are visible.
#pragma once

#include "build/annotations.h"
#include "relax/expr.h"

namespace tapml::build {

// Visits every binding and result.
class DeductionVisitor {
 public:
  virtual ~DeductionVisitor() = default;
  // `deduced` is the annotation of the binding's value (of a match_cast: of the value that is
  // cast).
  virtual void binding(const relax::Binding& binding, bool dataflow,
                       const relax::Annotation& deduced) = 0;
  // Called if deduction throws for this binding's value. Returns false to end the walk.
  virtual bool refused(const relax::Binding& binding, const Error& error) = 0;
  // Visits the result of `function` (of the Module, or the lambda that binding `lambda` binds).
  virtual void result(const relax::Function& function, const relax::Binding* lambda,
                      const relax::Annotation& deduced) = 0;
};

// Deduces everything in `function` from the annotations of its variables.
void walk_deduction(const relax::Function& function, const Module& module,
                    DeductionVisitor& visitor);

}  // namespace tapml::build
