// Deduction over whole functions: bindings in order, with the symbolic variables that are visible.
#pragma once

#include "build/annotations.h"
#include "relax/expr.h"

namespace tapml::build {

// What hears of every binding and result.
class DeductionVisitor {
 public:
  virtual ~DeductionVisitor() = default;
  // `deduced` is the annotation of the binding's value (of a match_cast: of the value that is
  // cast).
  virtual void binding(const relax::Binding& binding, bool dataflow,
                       const relax::Annotation& deduced) = 0;
  // Deduction throws for this binding's value. False: the walk ends.
  virtual bool refused(const relax::Binding& binding, const Error& error) = 0;
  // What `function` (of the Module, or the lambda that binding `lambda` binds) returns.
  virtual void result(const relax::Function& function, const relax::Binding* lambda,
                      const relax::Annotation& deduced) = 0;
};

// Deduces everything in `function` from the annotations that its variables have.
void walk_deduction(const relax::Function& function, const Module& module,
                    DeductionVisitor& visitor);

}  // namespace tapml::build
