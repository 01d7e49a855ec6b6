#pragma once

#include "ir/module.h"

namespace tapml::passes {

// A concat of more operands than one kernel may have tensors becomes a chain of two smaller ones,
// or a tree of more, so that every platform's limit of bindings is kept.
Module split_wide_concat(const Module& module);

// Operands that one concat kernel may have (with its output: 6 tensors).
inline constexpr size_t kConcatOperands = 5;

}  // namespace tapml::passes
