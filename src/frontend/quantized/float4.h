// Matrices of E2M1, the float of four bits, with a scale for each group of a row.
#pragma once

#include <functional>
#include <string>

#include "frontend/quantized/coded_matrix.h"

namespace tapml::frontend {

// Of bytes u8[..., rows, columns / 2], each of which has two neighbors, the first in its low half.
// `scale` is as of CodedMatrix.
CodedMatrix float4_matrix(const HostTensor& bytes, Shape shape, int64_t group,
                          std::function<float(int64_t row, int64_t group)> scale,
                          const std::string& type);

// The same in groups of 32 with scales u8[..., rows, columns / 32] that are powers of two (MXFP4).
inline constexpr int64_t kMxfp4Group = 32;
CodedMatrix mxfp4_matrix(const HostTensor& bytes, Shape shape, const HostTensor& scales);

// Writes the codes of rows of such bytes.
void unpack_nibbles(const HostTensor& bytes, int64_t columns, int64_t first, int64_t count,
                    uint8_t* codes);

}  // namespace tapml::frontend
