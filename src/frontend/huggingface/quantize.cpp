#include "frontend/huggingface/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/strings.h"
#include "frontend/huggingface/quantize_group.h"
#include "ir/exceptions.h"
#include "tensor/packed_levels.h"

namespace tapml::frontend {

namespace {

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
                                const models::WeightLayout& layout, const std::string& file) {
  const int64_t columns = spec.shape.back();
  Shape packed_shape = spec.shape, scales_shape = spec.shape;
  packed_shape.back() = layout.is_whole() ? columns : packed_row_bytes(columns, layout.bits);
  scales_shape.back() /= layout.group;
  QuantizedWeight result{HostTensor::zeros(layout.packed(), packed_shape),
                         HostTensor::zeros(layout.scales, scales_shape)};
  if (layout.has_minimums) result.minimums = HostTensor::zeros(layout.scales, scales_shape);
  std::byte* packed = result.packed.mutable_bytes().data();
  std::vector<float> row(static_cast<size_t>(columns));
  std::vector<int8_t> levels(row.size());
  std::vector<uint8_t> codes(row.size());
  const int shift = -level_range(layout).lowest;
  const auto length = static_cast<size_t>(layout.group);
  int64_t groups = 0;
  for (const HostTensor& part : parts) {
    const int64_t rows = row.empty() ? 0 : part.size() / columns;
    for (int64_t r = 0; r < rows; ++r) {
      widen(part, r, row);
      for (size_t first = 0; first < row.size(); first += length) {
        const std::span<const float> group = std::span(row).subspan(first, length);
        float largest = 0;
        bool finite = true;
        for (float value : group) {
          finite &= std::isfinite(value);
          largest = std::max(largest, std::fabs(value));
        }
        GroupScale scale{};
        if (finite) scale = quantize_group(group, layout, std::span(levels).subspan(first, length));
        if (!finite || !std::isfinite(scale.scale) || !std::isfinite(scale.minimum)) {
          throw_user("weight " + in_quotes(spec.name) + " cannot be quantized", file,
                     finite ? std::string("scales that fit ") + dtype_name(layout.scales)
                            : "finite elements",
                     finite ? "a largest magnitude of " + std::to_string(largest)
                            : "an infinity or a NaN in row " + std::to_string(r));
        }
        result.scales.set_f64(groups, scale.scale);
        if (result.minimums) result.minimums->set_f64(groups, scale.minimum);
        ++groups;
      }
      if (layout.is_whole()) {
        std::memcpy(packed, levels.data(), levels.size());
        packed += levels.size();
        continue;
      }
      for (size_t i = 0; i < levels.size(); ++i) {
        codes[i] = static_cast<uint8_t>(levels[i] + shift);
      }
      pack_levels(codes, layout.bits, packed);
      packed += packed_row_bytes(columns, layout.bits);
    }
  }
  return result;
}

}  // namespace tapml::frontend
