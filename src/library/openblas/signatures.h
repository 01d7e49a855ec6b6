// Signatures of the routines (abi/routine_signature.h), for the compiler and for the device.
#pragma once

namespace tapml::openblas {

inline constexpr const char* kMatmul =
    "a: T[~batch, swap(transpose_a, m, k)], b: T[~batch, swap(transpose_b, k, n)] -> "
    "c: T[*batch, m, n]; transpose_a, transpose_b; T: f32 | f64";

}  // namespace tapml::openblas
