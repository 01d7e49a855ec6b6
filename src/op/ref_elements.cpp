#include "op/ref_elements.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "op/widen.h"

namespace tapml::op {

namespace {

void copy_elements(const double* from, size_t stride, size_t count, double* to, size_t to_stride) {
  if (count == 0) return;
  if (stride == 1 && to_stride == 1) {
    std::memcpy(to, from, count * sizeof(double));
    return;
  }
  for (size_t i = 0; i < count; ++i) to[i * to_stride] = from[i * stride];
}

void set_zero(size_t count, double* to, size_t to_stride) {
  for (size_t i = 0; i < count; ++i) to[i * to_stride] = 0;
}

double one_of(const ComputedElements& computed, size_t i) {
  double value = 0;
  computed.read(i, 1, 1, &value, 1);
  return value;
}

}  // namespace

RefValues::RefValues(const HostTensor& tensor) : size_(static_cast<size_t>(tensor.size())) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.bytes().data());
  if (size_ > 0 && address % dtype_bytes(tensor.dtype()) == 0 && can_widen(tensor.dtype())) {
    given_ = tensor.bytes().data();
    dtype_ = tensor.dtype();
    owner_ = tensor;
    return;
  }
  own_.resize(size_);
  for (size_t i = 0; i < size_; ++i) own_[i] = tensor.at_f64(static_cast<int64_t>(i));
}

void RefValues::assign(size_t size, double value) {
  *this = RefValues();
  size_ = size;
  if (value != 0 || std::signbit(value)) own_.assign(size, value);
}

double RefValues::unstored(size_t i) const {
  double value = 0;
  read(i, 1, 1, &value, 1);
  return value;
}

void RefValues::store() {
  std::vector<double> stored(size_);
  read(0, 1, size_, stored.data(), 1);
  *this = std::move(stored);
}

void RefValues::read(size_t first, size_t stride, size_t count, double* to,
                     size_t to_stride) const {
  if (!own_.empty()) return copy_elements(own_.data() + first, stride, count, to, to_stride);
  if (computed_) return computed_->read(first, stride, count, to, to_stride);
  if (!given_) return set_zero(count, to, to_stride);
  const size_t width = dtype_bytes(dtype_);
  const auto* from = static_cast<const std::byte*>(given_) + first * width;
  if (stride == 1 && to_stride == 1) return widen(dtype_, from, count, to);
  for (size_t i = 0; i < count; ++i) {
    widen(dtype_, from + i * stride * width, 1, to + i * to_stride);
  }
}

double RefBounds::computed(size_t i) const { return one_of(*computed_, i); }

void RefBounds::store() {
  std::vector<double> stored(size_);
  read(0, 1, size_, stored.data(), 1);
  own_ = std::move(stored);
  computed_ = nullptr;
}

void RefBounds::read(size_t first, size_t stride, size_t count, double* to,
                     size_t to_stride) const {
  if (!own_.empty()) return copy_elements(own_.data() + first, stride, count, to, to_stride);
  if (computed_) return computed_->read(first, stride, count, to, to_stride);
  set_zero(count, to, to_stride);
}

}  // namespace tapml::op
