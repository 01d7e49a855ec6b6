// The methods of quantization of published safetensors files: "quantization_config" of config.json.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/huggingface/weights.h"
#include "frontend/quantized/coded_matrix.h"
#include "frontend/quantized/layer_tensors.h"
#include "io/json_reader.h"

namespace tapml::frontend {

// How one kind of a file's quantized layers is stored. Other layers, such as those that the
// configuration excludes, are read as in files that are not quantized.
struct QuantizedLayers {
  std::string marker;  // the end of the name of a tensor that each of them has, and no other layer
  std::string weight;  // the end of the name of the weight that they stand for: ".weight"
  // UserError for tensors that do not fit each other.
  std::function<CodedMatrix(LayerTensors& tensors)> read;
};

struct QuantizationMethod {
  const char* name;  // "quant_method"
  const char* doc;
  // UserError for a field that is out of range or not supported.
  std::vector<QuantizedLayers> (*parse)(const JsonObjectReader& config);
};

std::span<const QuantizationMethod> quantization_methods();

// Of the object "quantization_config"; UserError for an unknown method, with those that are known.
std::vector<QuantizedLayers> parse_quantization(const JsonObjectReader& config);

// Of the whole object of config.json: empty without "quantization_config".
std::vector<QuantizedLayers> parse_config_quantization(const JsonObjectReader& config);
// Of a folder's config.json; empty if there is none.
std::vector<QuantizedLayers> read_quantized_layers(const std::string& folder);

// Puts the weights of quantized layers in the place of the tensors that they are made of.
void arrange_quantized(const std::vector<QuantizedLayers>& layers, WeightFiles& files);

// Each method has a file.
std::vector<QuantizedLayers> parse_gptq(const JsonObjectReader& config);
std::vector<QuantizedLayers> parse_awq(const JsonObjectReader& config);
std::vector<QuantizedLayers> parse_fp8(const JsonObjectReader& config);
std::vector<QuantizedLayers> parse_compressed_tensors(const JsonObjectReader& config);
std::vector<QuantizedLayers> parse_mxfp4(const JsonObjectReader& config);
std::vector<QuantizedLayers> parse_bitsandbytes(const JsonObjectReader& config);
std::vector<QuantizedLayers> parse_modelopt(const JsonObjectReader& config);

}  // namespace tapml::frontend
