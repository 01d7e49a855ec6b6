#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Splits a concat with more operands than one kernel may have tensors into a chain of two smaller
// ones, or a tree of more, to stay within every platform's limit of bindings.
Module split_wide_concat(const Module& module);

// The most operands of one concat kernel (with its output: 6 tensors).
inline constexpr size_t kConcatOperands = 5;

}  // namespace tapml::passes
