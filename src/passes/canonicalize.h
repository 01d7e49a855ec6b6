// One way to write what can be written in several.
#pragma once

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Without looking at what operators do:
// - nested expressions become bindings (a_normal_form);
// - another name for a value goes, as does a match_cast that surely holds;
// - a field of a known tuple is what the tuple was made of;
// - tuples, constants, shapes, scalars and functions that nothing uses go;
// - adjacent blocks of one kind become one, what a dataflow block hands out and nothing outside of
//   it takes stays inside.
// Impure functions too: a name that goes had the same storage. Kernels and patterns stay as they
// are.
Module canonicalize(const Module& module);

// The same for one body in A-normal form.
relax::Expr canonical(const relax::Expr& body);

}  // namespace tapml::passes
