// What a kernel promises that GLSL has no word for, written into its SPIR-V.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tapml::codegen {

// `words` with:
// - NoContraction on float arithmetic: no product and sum become one, and nothing is simplified as
//   if numbers were real;
// - SignedZeroInfNanPreserve and RoundingModeRTE (SPV_KHR_float_controls) for the floats in use;
// - Aliased on storage buffers that are not declared `restrict`.
// InternalError for what is no module of one entry point.
std::vector<uint32_t> with_promises(std::span<const uint32_t> words);

}  // namespace tapml::codegen
