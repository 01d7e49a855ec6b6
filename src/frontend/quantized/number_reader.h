// Reads scales of any dtype as f32.
#pragma once

#include <cstdint>

#include "frontend/quantized/layer_tensors.h"

namespace tapml::frontend {

// The numbers of a tensor of f16, bf16 or f32, or of small floats: F8_E4M3, F8_E8M0.
class NumberReader {
 public:
  explicit NumberReader(const StoredTensor& stored);

  float operator[](int64_t index) const;
  const HostTensor& tensor() const { return tensor_; }
  // The float of at most 32 bits that holds all of them exactly.
  DType dtype() const { return dtype_; }

 private:
  HostTensor tensor_;
  DType dtype_;
  std::vector<float> values_;  // of bytes
};

}  // namespace tapml::frontend
