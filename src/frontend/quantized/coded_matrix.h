// A quantized matrix in the form that every method's tensors are brought to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "frontend/huggingface/weights.h"
#include "tensor/host_tensor.h"

namespace tapml::frontend {

// Element (row, column) is (code - zero) * scale; with minimums code * scale + minimum; with values
// values[code] * scale. Scales, zeros and minimums are those of the column's group, column / group.
// Functions take rows of all leading dimensions together; what they read must stay alive with them.
struct CodedMatrix {
  std::string type;  // what errors and notes call it: "GPTQ of 4 bits"
  Shape shape;       // [..., rows, columns]; the columns are inputs
  int bits = 4;      // 2 to 8: codes are below 2^bits
  int64_t group = 0;
  DType scales = DType::kF32;  // f16, bf16 or f32, which holds all of them exactly
  // The codes of whole rows, a byte each, `count` rows from `first` on.
  std::function<void(int64_t first, int64_t count, uint8_t* codes)> codes;
  std::function<float(int64_t row, int64_t group)> scale;
  std::function<int(int64_t row, int64_t group)> zero = nullptr;  // null: 2^(bits - 1)
  std::function<float(int64_t row, int64_t group)> minimum = nullptr;
  std::vector<float> values = {};       // 16 or 256; a NaN is of a code that no element may have
  std::string format = {};              // if values are those of a float that dequantize_float has
  std::vector<int32_t> order = {};      // the input of each column, where it is another one
  std::vector<HostTensor> stored = {};  // the tensors that it was made of

  int64_t columns() const { return shape.back(); }
  int64_t rows() const { return element_count(shape) / std::max<int64_t>(columns(), 1); }
};

// The weight, named `name` in errors, in the layout that keeps its elements exactly; without one,
// where no layout does. Elements are read when it is loaded: UserError then for a scale that is not
// finite and for a code that is not allowed.
BlockWeight block_weight(CodedMatrix matrix, const std::string& name, const std::string& file);

}  // namespace tapml::frontend
