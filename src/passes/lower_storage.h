// Views and writes become kernels.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Storage operators in terms of what kernels and the virtual machine do (relax/storage.h):
//   - assign and assign_slice become an update in place of the tensor that is written, by a program
//     that knows where each element goes: write_view_<dtype>_<rank>.
//   - What reads a view whose elements may lie apart reads a copy, made by read_view_<dtype>_<rank>
//     where the view is one at run time; what updates such a view in place updates a copy, which is
//     written back. Copies serve until something is written.
//   - Views themselves stay: reshapes and rows of a tensor are tensors at an offset, others values
//     that only the machine knows.
// In modules that write, what the language calls a tensor of its own and the machine would share
// becomes a copy where a write could tell: reshapes, constants, results of packed functions.
//
// Expects closures that are lifted and shapes that are known where operators need them
// (name_shapes); UserError where neither side of an assignment has a known rank and dtype. Modules
// without storage operators stay as they are.
Module lower_storage(const Module& module);

}  // namespace tapml::passes
