#include "op/reference.h"

namespace tapml::op {

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
  return tensor;
}

RefTensor RefTensor::from(const HostTensor& host) {
  RefTensor tensor = zeros(host.dtype(), host.shape());
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = host.at_f64(static_cast<int64_t>(i));
  }
  return tensor;
}

HostTensor RefTensor::to_host() const {
  HostTensor host = HostTensor::zeros(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) host.set_f64(static_cast<int64_t>(i), values[i]);
  return host;
}

}  // namespace tapml::op
