// Elements in memory and the rounding of each dtype.
#include <cstring>

#include "interp/tir_code.h"

namespace tapml::interp {

namespace {

template <class T>
T read(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void write(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Conversion to narrow floats goes through f32.
float narrowed(double value) { return static_cast<float>(value); }

}  // namespace

int64_t reserved_elements(const BufferSlot& buffer) {
  if (!buffer.strides.empty()) return buffer.dims[0] * buffer.strides[0];
  int64_t elements = 1;
  for (int64_t dim : buffer.dims) elements *= dim;
  return elements;
}

int64_t wrap_integer(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kU16:
      return static_cast<uint16_t>(value);
    case DType::kU32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

double round_float(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<float>(value);
    case DType::kF16:
      return f16_to_f32(f32_to_f16(narrowed(value)));
    case DType::kBF16:
      return bf16_to_f32(f32_to_bf16(narrowed(value)));
    default:
      return value;
  }
}

int64_t load_integer(DType dtype, const std::byte* data, int64_t index) {
  switch (dtype) {
    case DType::kBool:
      return read<uint8_t>(data, index) != 0 ? 1 : 0;
    case DType::kI8:
      return read<int8_t>(data, index);
    case DType::kI16:
      return read<int16_t>(data, index);
    case DType::kI32:
      return read<int32_t>(data, index);
    case DType::kU8:
      return read<uint8_t>(data, index);
    case DType::kU16:
      return read<uint16_t>(data, index);
    case DType::kU32:
      return read<uint32_t>(data, index);
    default:
      return read<int64_t>(data, index);
  }
}

double load_float(DType dtype, const std::byte* data, int64_t index) {
  switch (dtype) {
    case DType::kF16:
      return f16_to_f32(read<uint16_t>(data, index));
    case DType::kBF16:
      return bf16_to_f32(read<uint16_t>(data, index));
    case DType::kF32:
      return read<float>(data, index);
    default:
      return read<double>(data, index);
  }
}

void store_integer(DType dtype, std::byte* data, int64_t index, int64_t value) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return write(data, index, static_cast<uint8_t>(value));
    case 2:
      return write(data, index, static_cast<uint16_t>(value));
    case 4:
      return write(data, index, static_cast<uint32_t>(value));
    default:
      return write(data, index, value);
  }
}

void store_float(DType dtype, std::byte* data, int64_t index, double value) {
  switch (dtype) {
    case DType::kF16:
      return write(data, index, f32_to_f16(narrowed(value)));
    case DType::kBF16:
      return write(data, index, f32_to_bf16(narrowed(value)));
    case DType::kF32:
      return write(data, index, static_cast<float>(value));
    default:
      return write(data, index, value);
  }
}

}  // namespace tapml::interp
