// NVIDIA's ModelOpt: FP8 with a scale for each matrix, row or block, and NVFP4. Scales of
// activations are not used.
#include "frontend/quantized/methods.h"
#include "frontend/quantized/nvfp4.h"
#include "frontend/quantized/scaled_bytes.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

std::vector<QuantizedLayers> parse_modelopt(const JsonObjectReader& config) {
  constexpr std::string_view kAlgorithms[] = {"FP8", "FP8_PER_CHANNEL_PER_TOKEN", "NVFP4",
                                              "NVFP4_AWQ"};
  const char* key = "quant_algo";
  if (config.has(key)) unwrap(config.required_choice(key, kAlgorithms));
  const auto read = [](LayerTensors& tensors) {
    tensors.skip(".input_scale");
    if (tensors.has(".weight_scale_2")) {
      return read_nvfp4(tensors, {.weight = ".weight", .whole = ".weight_scale_2"});
    }
    return read_scaled_bytes(tensors, {}, "FP8");
  };
  return {{".weight_scale", ".weight", read}};
}

}  // namespace tapml::frontend
