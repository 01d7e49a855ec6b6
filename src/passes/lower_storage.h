// Lowers views and writes to kernels.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Expresses storage operators in terms of kernels and the virtual machine (relax/storage.h):
//  - assign and assign_slice become an in-place update of the tensor that is written, by a program
//    that computes the position of each element: write_view_<dtype>_<rank>.
//  - An operation that reads a possibly non-contiguous view reads a copy, made by
//    read_view_<dtype>_<rank> if the value is a view at run time; an operation that updates such a
//    view updates a copy, which is written back. Copies are reused until something is written.
//  - Views themselves stay: reshapes and rows of a tensor are tensors at an offset, others are
//    values that only the VM handles.
// In modules that write, a value that the language defines as a separate tensor, but for which the
// VM would share storage, is copied where a write could reveal the difference: reshapes, constants,
// results of packed functions.
//
// Expects lifted closures, and known shapes where operators need them (name_shapes); UserError
// where neither side of an assignment has a known rank and dtype. Modules without storage operators
// are not changed.
Module lower_storage(const Module& module);

}  // namespace tapml::passes
