#include "frontend/quantized/float4.h"

#include "frontend/quantized/small_floats.h"

namespace tapml::frontend {

void unpack_nibbles(const HostTensor& bytes, int64_t columns, int64_t first, int64_t count,
                    uint8_t* codes) {
  const int64_t half = columns / 2;
  const uint8_t* from = bytes.values<uint8_t>().data() + first * half;
  for (int64_t i = 0; i < count * half; ++i) {
    codes[2 * i] = from[i] & 15;
    codes[2 * i + 1] = from[i] >> 4;
  }
}

CodedMatrix float4_matrix(const HostTensor& bytes, Shape shape, int64_t group,
                          std::function<float(int64_t row, int64_t group)> scale,
                          const std::string& type) {
  const int64_t columns = shape.back();
  return {.type = type,
          .shape = std::move(shape),
          .bits = 4,
          .group = group,
          .scales = DType::kF32,
          .codes = [bytes, columns](
                       int64_t first, int64_t count,
                       uint8_t* codes) { unpack_nibbles(bytes, columns, first, count, codes); },
          .scale = std::move(scale),
          .values = float4_values(),
          .format = "e2m1",
          .stored = {bytes}};
}

CodedMatrix mxfp4_matrix(const HostTensor& bytes, Shape shape, const HostTensor& scales) {
  const int64_t groups = shape.back() / kMxfp4Group;
  CodedMatrix matrix = float4_matrix(
      bytes, std::move(shape), kMxfp4Group,
      [scales, groups](int64_t row, int64_t group) {
        return power_of_two(scales.values<uint8_t>()[static_cast<size_t>(row * groups + group)]);
      },
      "MXFP4");
  matrix.stored.push_back(scales);
  return matrix;
}

}  // namespace tapml::frontend
