#include "frontend/quantized/nvfp4.h"

#include <memory>

#include "frontend/quantized/float4.h"
#include "frontend/quantized/number_reader.h"

namespace tapml::frontend {

CodedMatrix read_nvfp4(LayerTensors& tensors, const Nvfp4Names& names) {
  constexpr int64_t kGroup = 16;
  const HostTensor bytes = tensors.take(names.weight, {"U8"}).tensor;
  Shape shape = bytes.shape();
  if (shape.size() != 2 || bytes.size() == 0 || shape[1] * 2 % kGroup != 0) {
    tensors.refuse(names.weight, "does not consist of whole groups of 16", "[outputs, inputs / 2]",
                   shape_to_string(shape));
  }
  shape[1] *= 2;
  const int64_t groups = shape[1] / kGroup;
  const auto scales = std::make_shared<const NumberReader>(
      tensors.take(".weight_scale", {"F8_E4M3"}, {shape[0], groups}));
  const StoredTensor whole = tensors.take(names.whole, {"F32"});
  if (whole.tensor.size() != 1) {
    tensors.refuse(names.whole, "is not one number", "[1]", shape_to_string(whole.tensor.shape()));
  }
  const float factor = NumberReader(whole)[0];
  CodedMatrix matrix = float4_matrix(
      bytes, shape, kGroup,
      [scales, groups, factor, divides = names.divides](int64_t row, int64_t group) {
        const float own = (*scales)[row * groups + group];
        return divides ? own / factor : own * factor;
      },
      "NVFP4");
  matrix.stored.push_back(scales->tensor());
  matrix.stored.push_back(whole.tensor);
  return matrix;
}

}  // namespace tapml::frontend
