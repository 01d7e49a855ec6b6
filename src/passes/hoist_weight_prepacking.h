// What implementations pack of weights is made once, by `prepare`.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// In a planned module, calls of kernels whose requirements name what is prepared, of sources that
// are weights, take what `prepare` made of them:
//   call_tir_dps(@K, (x, w), (y), ...) {prepared: 5}    of parameter 5: Tensor((bytes,), u8)
// `prepare(weights...)` returns a tuple of such tensors, one for each weight and way to pack it,
// however many calls and functions use it; it is made here, or grows where the module has one.
// Every function with weights takes all of its results, in order, behind its parameters.
Module hoist_weight_prepacking(const Module& planned);

}  // namespace tapml::passes
