#include "op/ref_elements.h"

#include <cstdint>

namespace tapml::op {

namespace {

template <class T>
void copy_elements(const T* from, size_t stride, size_t count, double* to, size_t to_stride) {
  for (size_t i = 0; i < count; ++i) to[i * to_stride] = from[i * stride];
}

// Calls f with the data as a pointer to its type, and the function that widens an element; false
// for dtypes that are copied.
template <class F>
bool with_elements(DType dtype, const void* data, F&& f) {
  const auto same = [](auto value) { return static_cast<double>(value); };
  switch (dtype) {
    case DType::kF32:
      f(static_cast<const float*>(data), same);
      return true;
    case DType::kF16:
      f(static_cast<const uint16_t*>(data), [](uint16_t v) -> double { return f16_to_f32(v); });
      return true;
    case DType::kBF16:
      f(static_cast<const uint16_t*>(data), [](uint16_t v) -> double { return bf16_to_f32(v); });
      return true;
    case DType::kU8:
      f(static_cast<const uint8_t*>(data), same);
      return true;
    case DType::kI8:
      f(static_cast<const int8_t*>(data), same);
      return true;
    default:
      return false;
  }
}

}  // namespace

RefValues::RefValues(const HostTensor& tensor) {
  const auto size = static_cast<size_t>(tensor.size());
  const auto address = reinterpret_cast<uintptr_t>(tensor.bytes().data());
  const void* data = tensor.bytes().data();
  if (size > 0 && address % dtype_bytes(tensor.dtype()) == 0 &&
      with_elements(tensor.dtype(), data, [](auto, auto) {})) {
    given_ = data;
    dtype_ = tensor.dtype();
    given_size_ = size;
    owner_ = tensor;
    return;
  }
  own_.resize(size);
  for (size_t i = 0; i < size; ++i) own_[i] = tensor.at_f64(static_cast<int64_t>(i));
}

double RefValues::given_at(size_t i) const {
  double value = 0;
  with_elements(dtype_, given_, [&](const auto* data, auto widen) { value = widen(data[i]); });
  return value;
}

void RefValues::copy_given() {
  own_.resize(given_size_);
  read(0, 1, given_size_, own_.data(), 1);
  given_ = nullptr;
  owner_ = {};
}

void RefValues::read(size_t first, size_t stride, size_t count, double* to,
                     size_t to_stride) const {
  if (given_) {
    with_elements(dtype_, given_, [&](const auto* data, auto widen) {
      for (size_t i = 0; i < count; ++i) to[i * to_stride] = widen(data[first + i * stride]);
    });
    return;
  }
  copy_elements(own_.data() + first, stride, count, to, to_stride);
}

void RefBounds::read(size_t first, size_t stride, size_t count, double* to,
                     size_t to_stride) const {
  if (!own_.empty()) return copy_elements(own_.data() + first, stride, count, to, to_stride);
  for (size_t i = 0; i < count; ++i) to[i * to_stride] = 0;
}

}  // namespace tapml::op
