#include "tensor/host_tensor.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include "base/hash.h"
#include "base/physical_memory.h"
#include "base/strings.h"
#include "tensor/uninitialized.h"

namespace tapml {

namespace {

constexpr size_t kAlignment = 64;

// The f32 next to `value` whose last bit is set if `value` is not exactly an f32 (round to odd).
// Rounding it again to a shorter type gives the correctly rounded result.
float round_to_odd_f32(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  if (std::bit_cast<uint32_t>(nearest) & 1u) return nearest;
  float toward = static_cast<double>(nearest) < value ? std::numeric_limits<float>::infinity()
                                                      : -std::numeric_limits<float>::infinity();
  return std::nextafter(nearest, toward);
}

template <class T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

// Nearest integer (ties to even), saturated to the range of T; NaN gives 0.
template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  value = std::nearbyint(value);
  // For 64-bit types the upper limit is not a double; the nearest double is one too large.
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

}  // namespace

Result<int64_t> checked_element_count(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool empty = false;
  bool overflow = false;
  for (int64_t extent : shape) {
    if (extent < 0) {
      return fail(user_error("a dimension of shape " + shape_to_string(shape) + " is negative", "",
                             "dimensions of at least 0", std::to_string(extent)));
    }
    if (extent == 0) {
      empty = true;
    } else if (count > std::numeric_limits<int64_t>::max() / extent) {
      overflow = true;
    } else {
      count *= extent;
    }
  }
  if (empty) return 0;
  if (overflow) {
    return fail(user_error("shape " + shape_to_string(shape) + " has too many elements", "",
                           "at most 2^63 - 1 elements"));
  }
  return count;
}

Result<int64_t> checked_byte_count(DType dtype, std::span<const int64_t> shape) {
  TAPML_ASSIGN(int64_t count, checked_element_count(shape));
  auto bytes = static_cast<int64_t>(dtype_bytes(dtype));
  if (count > std::numeric_limits<int64_t>::max() / bytes) {
    return fail(user_error("a tensor of shape " + shape_to_string(shape) + " and dtype " +
                               dtype_name(dtype) + " has too many bytes",
                           "", "at most 2^63 - 1 bytes"));
  }
  return count * bytes;
}

int64_t element_count(std::span<const int64_t> shape) {
  // Unsigned: if one dimension is 0, the others may be of any size.
  uint64_t count = 1;
  for (int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  return static_cast<int64_t>(count);
}

std::string shape_to_string(std::span<const int64_t> shape) {
  return "[" + join(shape, [](int64_t extent) { return std::to_string(extent); }) + "]";
}

HostTensor HostTensor::zeros(DType dtype, Shape shape) {
  HostTensor tensor = uninitialized_tensor(dtype, std::move(shape));
  std::memset(tensor.mutable_bytes().data(), 0, tensor.byte_size());
  return tensor;
}

HostTensor uninitialized_tensor(DType dtype, Shape shape) {
  // Whole alignment blocks, at least one: vector loads may read to the end of the padding.
  size_t used = static_cast<size_t>(element_count(shape)) * dtype_bytes(dtype);
  size_t bytes = (used / kAlignment + 1) * kAlignment;
#if defined(__cpp_exceptions)
  // An allocator that reserves addresses only would give more than there is, and the process would
  // end at the first use.
  static const int64_t most = physical_memory();
  if (most > 0 && bytes > static_cast<size_t>(most)) throw std::bad_alloc();
#endif
  void* memory = ::operator new(bytes, std::align_val_t{kAlignment});
  auto* data = static_cast<std::byte*>(memory);
  std::memset(data + used, 0, bytes - used);
  std::shared_ptr<const void> owner(memory, [](const void* block) {
    ::operator delete(const_cast<void*>(block), std::align_val_t{kAlignment});
  });
  return HostTensor::view(dtype, std::move(shape), data, std::move(owner));
}

HostTensor HostTensor::view(DType dtype, Shape shape, const std::byte* data,
                            std::shared_ptr<const void> owner) {
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = data;
  tensor.owner_ = std::move(owner);
  return tensor;
}

HostTensor HostTensor::reshaped(Shape shape) const {
  return view(dtype_, std::move(shape), data_, owner_);
}

double HostTensor::at_f64(int64_t index) const {
  switch (dtype_) {
    case DType::kBool:
      return load<uint8_t>(data_, index) != 0 ? 1 : 0;
    case DType::kI8:
      return load<int8_t>(data_, index);
    case DType::kI16:
      return load<int16_t>(data_, index);
    case DType::kI32:
      return load<int32_t>(data_, index);
    case DType::kI64:
      return static_cast<double>(load<int64_t>(data_, index));
    case DType::kU8:
      return load<uint8_t>(data_, index);
    case DType::kU16:
      return load<uint16_t>(data_, index);
    case DType::kU32:
      return load<uint32_t>(data_, index);
    case DType::kU64:
      return static_cast<double>(load<uint64_t>(data_, index));
    case DType::kF16:
      return f16_to_f32(load<uint16_t>(data_, index));
    case DType::kBF16:
      return bf16_to_f32(load<uint16_t>(data_, index));
    case DType::kF32:
      return load<float>(data_, index);
    case DType::kF64:
      return load<double>(data_, index);
  }
  return 0;
}

void HostTensor::set_f64(int64_t index, double value) {
  std::byte* data = mutable_bytes().data();
  switch (dtype_) {
    case DType::kBool:
      return store<uint8_t>(data, index, value != 0 ? 1 : 0);
    case DType::kI8:
      return store(data, index, saturate<int8_t>(value));
    case DType::kI16:
      return store(data, index, saturate<int16_t>(value));
    case DType::kI32:
      return store(data, index, saturate<int32_t>(value));
    case DType::kI64:
      return store(data, index, saturate<int64_t>(value));
    case DType::kU8:
      return store(data, index, saturate<uint8_t>(value));
    case DType::kU16:
      return store(data, index, saturate<uint16_t>(value));
    case DType::kU32:
      return store(data, index, saturate<uint32_t>(value));
    case DType::kU64:
      return store(data, index, saturate<uint64_t>(value));
    case DType::kF16:
      return store(data, index, f32_to_f16(round_to_odd_f32(value)));
    case DType::kBF16:
      return store(data, index, f32_to_bf16(round_to_odd_f32(value)));
    case DType::kF32:
      return store(data, index, static_cast<float>(value));
    case DType::kF64:
      return store(data, index, value);
  }
}

std::string content_hash(const HostTensor& tensor) {
  Sha256 hash;
  hash.update(std::string(dtype_name(tensor.dtype())) + "|" + shape_to_string(tensor.shape()) +
              "|");
  hash.update(tensor.bytes());
  return to_hex(hash.digest());
}

}  // namespace tapml
