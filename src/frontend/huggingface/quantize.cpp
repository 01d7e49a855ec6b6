#include "frontend/huggingface/quantize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr int64_t kGroup = models::kQuantizationGroup;
constexpr float kLargestLevel = 7;
constexpr int kZero = 8;  // the nibble of level 0

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

float rounded(float scale, DType dtype) {
  return dtype == DType::kF16 ? f16_to_f32(f32_to_f16(scale)) : scale;
}

// Levels of a group, plus 8.
void pack_group(std::span<const float> group, float scale, std::byte* packed) {
  for (size_t i = 0; i < group.size(); i += 2) {
    unsigned byte = 0;
    for (size_t half = 0; half < 2; ++half) {
      const float level = scale > 0 ? std::nearbyint(group[i + half] / scale) : 0;
      const float inside = std::clamp(level, -kLargestLevel, kLargestLevel);
      byte |= static_cast<unsigned>(static_cast<int>(inside) + kZero) << (4 * half);
    }
    packed[i / 2] = static_cast<std::byte>(byte);
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
        const float scale = rounded(largest / kLargestLevel, quantization.scales);
        if (!finite || !std::isfinite(scale)) {
          throw_user("weight " + in_quotes(spec.name) + " cannot be quantized", file,
                     finite ? std::string("scales that fit ") + dtype_name(quantization.scales)
                            : "finite elements",
                     finite ? "a largest magnitude of " + std::to_string(largest)
                            : "an infinity or a NaN in row " + std::to_string(r));
        }
        result.scales.set_f64(groups, scale);
        pack_group(group, scale, packed + groups * (kGroup / 2));
        ++groups;
      }
    }
  }
  return result;
}

}  // namespace tapml::frontend
