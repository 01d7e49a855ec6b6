// A tensor in host memory: compact, row-major, shared storage.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace tapml {

using Shape = std::vector<int64_t>;

// Number of elements; an error if a dimension is negative or the product overflows int64.
Result<int64_t> checked_element_count(std::span<const int64_t> shape);
// Number of bytes, checked the same way.
Result<int64_t> checked_byte_count(DType dtype, std::span<const int64_t> shape);
// Number of elements of a valid shape.
int64_t element_count(std::span<const int64_t> shape);
// Text of a concrete shape: "[2, 3]".
std::string shape_to_string(std::span<const int64_t> shape);

// Shared bytes, immutable by convention. `owner` keeps the memory behind `data` alive (a heap block
// or a memory-mapped file), so viewing weights never copies them.
class HostTensor {
 public:
  HostTensor() = default;
  // A zero-filled tensor that owns its bytes, aligned to 64.
  static HostTensor zeros(DType dtype, Shape shape);
  // A view of bytes that `owner` keeps alive; `data` must hold the whole tensor.
  static HostTensor view(DType dtype, Shape shape, const std::byte* data,
                         std::shared_ptr<const void> owner);
  template <class T>
  static HostTensor from(DType dtype, Shape shape, std::span<const T> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t size() const { return element_count(shape_); }
  size_t byte_size() const { return static_cast<size_t>(size()) * dtype_bytes(dtype_); }
  std::span<const std::byte> bytes() const { return {data_, byte_size()}; }
  // Only for tensors from zeros() or from(), before they are shared.
  std::span<std::byte> mutable_bytes() { return {const_cast<std::byte*>(data_), byte_size()}; }
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(size())};
  }
  template <class T>
  std::span<T> mutable_values() {
    return {reinterpret_cast<T*>(const_cast<std::byte*>(data_)), static_cast<size_t>(size())};
  }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // The same bytes under another shape with the same element count.
  HostTensor reshaped(Shape shape) const;

  // Element `index` widened to double (bool as 0/1; i64 beyond 2^53 is rounded).
  double at_f64(int64_t index) const;
  void set_f64(int64_t index, double value);  // rounds to the dtype; saturating for integers

 private:
  DType dtype_ = DType::kF32;
  Shape shape_ = {0};
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

template <class T>
HostTensor HostTensor::from(DType dtype, Shape shape, std::span<const T> values) {
  HostTensor tensor = zeros(dtype, std::move(shape));
  std::span<std::byte> bytes = tensor.mutable_bytes();
  auto source = std::as_bytes(values);
  for (size_t i = 0; i < bytes.size() && i < source.size(); ++i) bytes[i] = source[i];
  return tensor;
}

// Lowercase hex SHA-256 of "dtype|shape|" (such as "f32|[2, 3]|") followed by the bytes.
std::string content_hash(const HostTensor& tensor);

}  // namespace tapml
