#include "frontend/huggingface/quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "frontend/huggingface/quantize_group.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kGroup = models::kQuantizationGroup;

void widen(const HostTensor& tensor, int64_t row, std::span<float> to) {
  const size_t first = static_cast<size_t>(row) * to.size();
  for (size_t i = 0; i < to.size(); ++i) {
    switch (tensor.dtype()) {
      case DType::kF16:
        to[i] = f16_to_f32(tensor.values<uint16_t>()[first + i]);
        break;
      case DType::kBF16:
        to[i] = bf16_to_f32(tensor.values<uint16_t>()[first + i]);
        break;
      default:
        to[i] = tensor.values<float>()[first + i];
    }
  }
}

}  // namespace

QuantizedWeight quantize_weight(const models::WeightSpec& spec, std::span<const HostTensor> parts,
                                const models::Quantization& quantization, const std::string& file) {
  Shape packed_shape = spec.shape, scales_shape = spec.shape;
  packed_shape.back() /= 2;
  scales_shape.back() /= kGroup;
  QuantizedWeight result{HostTensor::zeros(DType::kU8, std::move(packed_shape)),
                         HostTensor::zeros(quantization.scales, std::move(scales_shape))};
  std::byte* packed = result.packed.mutable_bytes().data();
  std::vector<float> row(static_cast<size_t>(spec.shape.back()));
  int64_t groups = 0;
  for (const HostTensor& part : parts) {
    const int64_t rows = row.empty() ? 0 : part.size() / static_cast<int64_t>(row.size());
    for (int64_t r = 0; r < rows; ++r) {
      widen(part, r, row);
      for (size_t first = 0; first < row.size(); first += kGroup) {
        const std::span<const float> group = std::span(row).subspan(first, kGroup);
        float largest = 0;
        bool finite = true;
        for (float value : group) {
          finite &= std::isfinite(value);
          largest = std::max(largest, std::fabs(value));
        }
        const float scale =
            finite ? quantize_group(group, quantization.scales, packed + groups * (kGroup / 2)) : 0;
        if (!finite || !std::isfinite(scale)) {
          throw_user("weight " + in_quotes(spec.name) + " cannot be quantized", file,
                     finite ? std::string("scales that fit ") + dtype_name(quantization.scales)
                            : "finite elements",
                     finite ? "a largest magnitude of " + std::to_string(largest)
                            : "an infinity or a NaN in row " + std::to_string(r));
        }
        result.scales.set_f64(groups, scale);
        ++groups;
      }
    }
  }
  return result;
}

}  // namespace tapml::frontend
