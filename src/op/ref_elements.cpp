#include "op/ref_elements.h"

#include <cstdint>

namespace tapml::op {

namespace {

template <class T>
void copy_elements(const T* from, size_t stride, size_t count, double* to, size_t to_stride) {
  for (size_t i = 0; i < count; ++i) to[i * to_stride] = from[i * stride];
}

}  // namespace

RefValues::RefValues(const HostTensor& tensor) {
  const auto size = static_cast<size_t>(tensor.size());
  const auto address = reinterpret_cast<uintptr_t>(tensor.bytes().data());
  if (tensor.dtype() == DType::kF32 && size > 0 && address % alignof(float) == 0) {
    given_ = tensor.values<float>().data();
    given_size_ = size;
    owner_ = tensor;
    return;
  }
  own_.resize(size);
  for (size_t i = 0; i < size; ++i) own_[i] = tensor.at_f64(static_cast<int64_t>(i));
}

void RefValues::copy_given() {
  own_.assign(given_, given_ + given_size_);
  given_ = nullptr;
  owner_ = {};
}

void RefValues::read(size_t first, size_t stride, size_t count, double* to,
                     size_t to_stride) const {
  if (given_) return copy_elements(given_ + first, stride, count, to, to_stride);
  copy_elements(own_.data() + first, stride, count, to, to_stride);
}

void RefBounds::read(size_t first, size_t stride, size_t count, double* to,
                     size_t to_stride) const {
  if (!own_.empty()) return copy_elements(own_.data() + first, stride, count, to, to_stride);
  for (size_t i = 0; i < count; ++i) to[i * to_stride] = 0;
}

}  // namespace tapml::op
