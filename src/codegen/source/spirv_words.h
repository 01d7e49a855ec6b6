// Adds guarantees to a kernel's SPIR-V that GLSL cannot express.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tapml::codegen {

// `words` with:
// - NoContraction on float arithmetic: products and sums are not fused, and nothing is simplified
//   as if it were real arithmetic;
// - SignedZeroInfNanPreserve and RoundingModeRTE (SPV_KHR_float_controls) for the floats in use;
// - Aliased on storage buffers that are not declared `restrict`.
// InternalError if `words` is not a module with one entry point.
std::vector<uint32_t> with_promises(std::span<const uint32_t> words);

}  // namespace tapml::codegen
