#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Replaces operator calls whose tensors are all constants by their value, as the operators'
// references compute it, rounded to the result's dtype. Only results of static shape of at most
// kFoldBytes: larger ones cost more as data than as work.
Module fold_constants(const Module& module);

inline constexpr int64_t kFoldBytes = 1024;

}  // namespace tapml::passes
