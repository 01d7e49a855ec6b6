// Short names of the dtypes.
#pragma once

#include "tensor/dtype.h"

namespace tapml::testing {

inline constexpr DType kBool = DType::kBool;
inline constexpr DType kI8 = DType::kI8, kI16 = DType::kI16, kI32 = DType::kI32, kI64 = DType::kI64;
inline constexpr DType kU8 = DType::kU8, kU16 = DType::kU16, kU32 = DType::kU32, kU64 = DType::kU64;
inline constexpr DType kF16 = DType::kF16, kBF16 = DType::kBF16;
inline constexpr DType kF32 = DType::kF32, kF64 = DType::kF64;

}  // namespace tapml::testing
