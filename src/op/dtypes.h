// Lists of dtypes that operators accept, and the dtypes that they compute in.
#pragma once

#include <vector>

#include "tensor/dtype.h"

namespace tapml::op {

inline std::vector<DType> float_dtypes() {
  return {DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
}
inline std::vector<DType> integer_dtypes() {
  return {DType::kI32, DType::kI64, DType::kI8,  DType::kI16,
          DType::kU8,  DType::kU16, DType::kU32, DType::kU64};
}
inline std::vector<DType> joined(std::vector<DType> a, const std::vector<DType>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline std::vector<DType> number_dtypes() { return joined(float_dtypes(), integer_dtypes()); }
inline std::vector<DType> bit_dtypes() { return joined(integer_dtypes(), {DType::kBool}); }
inline std::vector<DType> all_dtypes() { return joined(number_dtypes(), {DType::kBool}); }

// Dtype of a function of real numbers: floats keep theirs, integers and bool give f32.
inline DType real_dtype(DType dtype) { return is_float(dtype) ? dtype : DType::kF32; }

}  // namespace tapml::op
