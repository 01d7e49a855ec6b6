// What implementations pack of weights is made once, by `prepare`.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ir/module.h"

namespace tapml::passes {

// What the implementation of a kernel prepares. A module says it in attributes of the kernel,
// {packed_inputs: [1], packed_bytes: 4096, packing: "3f2a..."}.
struct Packing {
  std::vector<int32_t> sources;  // inputs of the kernel that it reads
  int64_t bytes = 0;             // of what it makes
  std::string digest;            // of one digest: the same bytes of the same sources
};

// The module whose kernels, by name, say what is packed for them.
Module mark_packing(const Module& module, const std::map<std::string, Packing>& packings);

// In a planned module, calls of marked kernels whose sources are weights take what `prepare` made
// of them:
//   call_tir_dps(@K, (x, w), (y), ...) {prepared: 5}    of parameter 5: Tensor((bytes,), u8)
// `prepare(weights...)` returns a tuple of such tensors, one for each weight and way to pack it,
// however many calls and functions use it; it is made here, or grows where the module has one.
// Every function with weights takes all of its results, in order, behind its parameters. The marks
// are gone then. UserError for marks that make no sense.
Module lift_packing(const Module& planned);

}  // namespace tapml::passes
