// Packs weights once, in `prepare`, instead of in every kernel call.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// In a planned module, calls of kernels whose requirements list prepared copies of sources that are
// weights take the copies made by `prepare`:
//   call_tir_dps(@K, (x, w), (y), ...) {prepared: 5}    of parameter 5: Tensor((bytes,), u8)
// `prepare(weights...)` returns a tuple of such tensors, one for each weight and packing, shared by
// all calls and functions; it is added if the module has none, and extended otherwise. Every
// function with weights takes all of its results, in order, after its parameters.
Module hoist_weight_prepacking(const Module& planned);

}  // namespace tapml::passes
