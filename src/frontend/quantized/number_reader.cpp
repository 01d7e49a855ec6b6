#include "frontend/quantized/number_reader.h"

#include "frontend/quantized/small_floats.h"

namespace tapml::frontend {

NumberReader::NumberReader(const StoredTensor& stored)
    : tensor_(stored.tensor), dtype_(tensor_.dtype()) {
  if (dtype_ != DType::kU8) return;
  dtype_ = DType::kF32;
  if (stored.is_float8()) {
    values_ = float8_values(stored.dtype == "F8_E5M2");
    return;
  }
  for (int code = 0; code < 256; ++code) {
    values_.push_back(power_of_two(static_cast<uint8_t>(code)));
  }
}

float NumberReader::operator[](int64_t index) const {
  const auto at = static_cast<size_t>(index);
  switch (tensor_.dtype()) {
    case DType::kU8:
      return values_[tensor_.values<uint8_t>()[at]];
    case DType::kF16:
      return f16_to_f32(tensor_.values<uint16_t>()[at]);
    case DType::kBF16:
      return bf16_to_f32(tensor_.values<uint16_t>()[at]);
    default:
      return tensor_.values<float>()[at];
  }
}

}  // namespace tapml::frontend
