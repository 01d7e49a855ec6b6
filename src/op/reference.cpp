#include "op/reference.h"

#include <cmath>
#include <span>

namespace tapml::op {

namespace {

bool is_64_bit(DType dtype) { return dtype == DType::kI64 || dtype == DType::kU64; }

}  // namespace

DType accumulation_dtype(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

RefTensor RefTensor::zeros(DType dtype, Shape shape) {
  RefTensor tensor;
  auto count = static_cast<size_t>(element_count(shape));
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.values.assign(count, 0);
  tensor.bound.assign(count, 0);
  if (is_64_bit(dtype)) tensor.integers.assign(count, 0);
  return tensor;
}

RefTensor RefTensor::from(const HostTensor& host) {
  RefTensor tensor;
  tensor.dtype = host.dtype();
  tensor.shape = host.shape();
  tensor.values = RefValues(host);
  tensor.bound.assign(tensor.values.size(), 0);
  if (is_64_bit(host.dtype())) {
    const std::span<const int64_t> integers = host.values<int64_t>();
    tensor.integers.assign(integers.begin(), integers.end());
  }
  return tensor;
}

HostTensor RefTensor::to_host() const {
  HostTensor host = HostTensor::zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (integers.empty()) {
      host.set_f64(static_cast<int64_t>(i), values[i]);
    } else {
      host.mutable_values<int64_t>()[i] = integers[i];
    }
  }
  return host;
}

void RefTensor::set_integer(size_t element, int64_t value) {
  const bool is_signed = is_signed_integer(dtype);
  if (!integers.empty()) {
    integers[element] = value;
    values[element] =
        is_signed ? static_cast<double>(value) : static_cast<double>(static_cast<uint64_t>(value));
    return;
  }
  if (dtype == DType::kBool) {
    values[element] = value != 0;
    return;
  }
  const int unused = 64 - dtype_bits(dtype);
  const uint64_t shifted = static_cast<uint64_t>(value) << unused;
  values[element] = is_signed ? static_cast<double>(static_cast<int64_t>(shifted) >> unused)
                              : static_cast<double>(shifted >> unused);
}

void RefTensor::set_value(size_t element, double value) {
  values[element] = value;
  if (integers.empty()) return;
  const bool is_signed = dtype == DType::kI64;
  const double limit = is_signed ? 0x1p63 : 0x1p64;
  const double least = is_signed ? -0x1p63 : 0;
  if (!(value > least)) {
    integers[element] = std::isnan(value) ? 0 : static_cast<int64_t>(least);
  } else if (value >= limit) {
    integers[element] = is_signed ? INT64_MAX : -1;
  } else {
    integers[element] = is_signed ? static_cast<int64_t>(value)
                                  : static_cast<int64_t>(static_cast<uint64_t>(value));
  }
}

}  // namespace tapml::op
