// Weights in float8: DeepSeek V3's files with a scale for each block of 128 x 128
// ("weight_scale_inv", which weights are multiplied by in spite of its name), files with a scale
// for each matrix or row
// ("weight_scale"), and FBGEMM's.
#include "frontend/quantized/methods.h"
#include "frontend/quantized/scaled_bytes.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

std::vector<QuantizedLayers> parse_fp8(const JsonObjectReader& config) {
  constexpr int64_t kMostBlock = int64_t{1} << 24;
  std::optional<ScaleBlock> block;
  const char* key = "weight_block_size";
  if (config.has(key)) {
    const auto sizes = unwrap(config.required_int_array(key, 1, kMostBlock));
    if (sizes.size() != 2) {
      throw_error(config.field_error(key, "is not the size of a block", "[rows, columns]"));
    }
    block = ScaleBlock{sizes[0], sizes[1]};
  }
  const auto reader = [block](const char* scale) {
    return [block, scale](LayerTensors& tensors) {
      for (const char* unused : {".input_scale", ".input_scale_ub", ".activation_scale"}) {
        tensors.skip(unused);
      }
      return read_scaled_bytes(tensors, {.scale = scale, .block = block}, "FP8");
    };
  };
  return {{".weight_scale_inv", ".weight", reader(".weight_scale_inv")},
          {".weight_scale", ".weight", reader(".weight_scale")}};
}

}  // namespace tapml::frontend
