#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes parameters that nothing reads, and their arguments at all calls: of functions with the
// attribute "private" (passing a parameter on in a recursive call does not read it), and of kernels
// whose specification and loops do not read a tensor. A parameter is kept where the function is
// used as a value; where its annotation gives a symbolic variable that is still needed; where a
// call passes a value that does not provably have its annotation, because the check at entry would
// be lost; and where a call updates an argument in place. Code that only computed the arguments is
// then dead.
Module remove_dead_parameters(const Module& module);

}  // namespace tapml::passes
