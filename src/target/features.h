// Features that many platforms share. For their descriptions.
#pragma once

#include "abi/device_info.h"

namespace tapml::target {

inline std::set<DType> all_dtypes() {
  return {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
          DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
          DType::kBF16, DType::kF32, DType::kF64};
}

// All dtypes can be stored; f16 and bf16 are computed in f32, f16 unless a device reports its own
// arithmetic (adopt_device).
inline Features f32_features() {
  Features features;
  features.storage_dtypes = all_dtypes();
  features.compute_dtypes = all_dtypes();
  features.compute_dtypes.erase(DType::kF16);
  features.compute_dtypes.erase(DType::kBF16);
  return features;
}

}  // namespace tapml::target
