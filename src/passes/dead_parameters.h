#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Removes parameters that nothing reads, at all calls too: of functions with the attribute
// "private" (what only calls itself with a parameter does not read it), and of kernels whose
// specification and loops do not look at a tensor. A parameter stays where the function is used as
// a value; where its annotation gives a symbolic variable that is still needed; where a call passes
// what does not provably have its annotation, because the check at entry would go with it; and
// where a call updates an argument in place. What made the arguments is then dead code.
Module remove_dead_parameters(const Module& module);

}  // namespace tapml::passes
