// What implementations pack of weights is made once, by `prepare`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/module.h"

namespace tapml::passes {

// What the implementation of a kernel prepares.
struct Packing {
  std::vector<int32_t> sources;  // inputs of the kernel that it reads
  int64_t bytes = 0;             // of what it makes
  std::string digest;            // of one digest: the same bytes of the same sources
};

// In a planned module, calls whose sources are weights take what `prepare` made of them:
//   call_tir_dps(@K, (x, w), (y), ...) {prepared: 5}    of parameter 5: Tensor((bytes,), u8)
// `prepare(weights...)` returns a tuple of such tensors, one for each weight and way to pack it,
// however many calls and functions use it; it is made here, or grows where the module has one.
// Every function with weights takes all of its results, in order, behind its parameters.
Module lift_packing(const Module& planned, const std::map<std::string, Packing>& packings);

}  // namespace tapml::passes
