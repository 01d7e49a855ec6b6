// The attribute of products that may accumulate in f16.
#pragma once

#include "op/operator.h"

namespace tapml::op {

inline constexpr const char* kAccumulation = "accumulation";

inline AttributeSpec accumulation_attribute() {
  return {kAccumulation,
          AttributeKind::kDType,
          false,
          {},
          "f16 allows partial sums in f16, where an operand is f16; default: f32 (f64 where an "
          "operand is f64)"};
}

// UserError of the call for another dtype than f32 and f16, and for f16 without an f16 operand.
inline void check_accumulation(const CallView& call, DType a, DType b) {
  const auto* dtype = find_attr<DType>(call.attrs, kAccumulation);
  if (!dtype || *dtype == DType::kF32) return;
  if (*dtype != DType::kF16) {
    call.error("sums are not accumulated in this dtype", "f32 or f16", dtype_name(*dtype));
  }
  const bool has_half = a == DType::kF16 || b == DType::kF16;
  if (!has_half || a == DType::kF64 || b == DType::kF64) {
    call.error("sums in f16 go with an operand in f16 only", "f16, and another float below f64",
               dtype_name(a) + std::string(" and ") + dtype_name(b));
  }
}

}  // namespace tapml::op
