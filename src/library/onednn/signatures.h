// Signatures of the routines (abi/routine_signature.h), for the compiler and for the device. The
// library supports tensors of at most 12 dimensions.
#pragma once

namespace tapml::onednn {

inline constexpr const char* kMatmul =
    "a: f32[~batch, swap(transpose_a, m, k)], b: f32[~batch, swap(transpose_b, k, n)], "
    "bias: f32[n]? -> c: f32[*batch:10, m, n]; transpose_a, transpose_b, activation";
inline constexpr const char* kSoftmax = "x: f32[*s] -> y: f32[*s]; axis";
inline constexpr const char* kLayerNorm =
    "x: f32[*rows, *columns], weight: f32[*columns], bias: f32[*columns] -> "
    "y: f32[*rows, *columns]; epsilon_bits";
inline constexpr const char* kConvolution =
    "x: f32[batch, channels, *space:3], weight: f32[filters, group_channels, *window:3] -> "
    "y: f32[batch, filters, *out:3]; groups, ...";

}  // namespace tapml::onednn
