// Dynamic-shape-aware fusion of kernels (Relax paper, section 4.2).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Groups calls of kernels in dataflow blocks by their pattern kinds (attribute "pattern_kind" of
// the implementations, see annotate_patterns):
// - injective kernels join the injective kernel or sum that alone reads them;
// - elementwise kernels join the matmul or sum whose result they alone read, at its own indices.
// A group becomes a function with attribute "fused" whose body calls the kernels; symbolic
// variables that its tensors do not give are passed as an extra Shape argument. Kernels that update
// an argument in place never join. No group has more than `kFusionTensors` tensors.
Module fuse_ops(const Module& module);

inline constexpr int kFusionTensors = 6;

// Sets "pattern_kind" on the implementation of every kernel, from its loops alone.
Module annotate_patterns(const Module& module);

}  // namespace tapml::passes
