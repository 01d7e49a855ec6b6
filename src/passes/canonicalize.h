// Gives programs that can be written in several ways one form.
#pragma once

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Without looking at what operators do:
// - nested expressions become bindings (a_normal_form);
// - aliases of a value are removed, as are match_casts that always hold;
// - a field of a known tuple becomes the element of the tuple;
// - unused tuples, constants, shapes, scalars and functions are removed;
// - adjacent blocks of one kind are merged; outputs of a dataflow block that nothing outside uses
//   become local to it.
// Applies to impure functions too: a removed alias had the same storage. Kernels and patterns are
// not changed.
Module canonicalize(const Module& module);

// The same for one body in A-normal form.
relax::Expr canonical(const relax::Expr& body);

}  // namespace tapml::passes
