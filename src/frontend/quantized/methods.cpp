#include "frontend/quantized/methods.h"

#include <algorithm>
#include <filesystem>

#include "base/strings.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::frontend {

namespace {

constexpr size_t kMostBytes = size_t{64} << 20;

}  // namespace

std::span<const QuantizationMethod> quantization_methods() {
  static constexpr QuantizationMethod kMethods[] = {
      {"gptq", "integers of 2, 3, 4 or 8 bits, with or without act-order", parse_gptq},
      {"awq", "integers of 4 bits in the order of GEMM", parse_awq},
      {"fp8", "float8 with a scale for each block, row or matrix", parse_fp8},
      {"fbgemm_fp8", "float8 with a scale for each row", parse_fp8},
      {"compressed-tensors", "integers of 4 or 8 bits, or float8", parse_compressed_tensors},
      {"mxfp4", "E2M1 with a power of two for 32 elements", parse_mxfp4},
      {"bitsandbytes", "NF4, FP4 or integers of 8 bits", parse_bitsandbytes},
      {"modelopt", "float8, or NVFP4", parse_modelopt},
  };
  return kMethods;
}

std::vector<QuantizedLayers> parse_quantization(const JsonObjectReader& config) {
  const char* key = "quant_method";
  const std::string name = unwrap(config.required_string(key));
  std::vector<std::string_view> known;
  for (const QuantizationMethod& method : quantization_methods()) {
    if (name == method.name) return method.parse(config);
    known.emplace_back(method.name);
  }
  throw_error(config.field_error(
      key, "names a method of quantization that is not supported", join_choices(known),
      "use a file that is not quantized, with --quantize, or a GGUF file"));
}

std::vector<QuantizedLayers> parse_config_quantization(const JsonObjectReader& config) {
  const auto own = unwrap(config.optional_object("quantization_config"));
  return own ? parse_quantization(*own) : std::vector<QuantizedLayers>();
}

std::vector<QuantizedLayers> read_quantized_layers(const std::string& folder) {
  const std::string path = folder + "/config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const Json json =
      unwrap(parse_json(unwrap(read_text_file(path, kMostBytes)), path, {.infinities = true}));
  return parse_config_quantization(JsonObjectReader(json, path));
}

void arrange_quantized(const std::vector<QuantizedLayers>& layers, WeightFiles& files) {
  for (const QuantizedLayers& kind : layers) {
    std::vector<std::string> paths;
    const auto add = [&](const std::string& name) {
      if (!name.ends_with(kind.marker)) return;
      paths.push_back(name.substr(0, name.size() - kind.marker.size()));
    };
    for (const auto& [name, tensor] : files.tensors) add(name);
    for (const auto& [name, dtype] : files.unknown_dtypes) add(name);
    for (const std::string& path : paths) {
      LayerTensors tensors(files, path);
      CodedMatrix matrix = kind.read(tensors);
      const std::string name = path + kind.weight, file = files.file_of[path + kind.marker];
      BlockWeight weight = block_weight(std::move(matrix), name, file);
      for (const std::string& taken : tensors.taken()) {
        files.tensors.erase(taken);
        files.unknown_dtypes.erase(taken);
        files.bytes.erase(taken);
      }
      files.file_of[name] = file;
      files.blocks.insert_or_assign(name, std::make_shared<const BlockWeight>(std::move(weight)));
    }
  }
  if (layers.empty()) return;
  for (const auto& [name, tensor] : files.bytes) {
    if (!name.ends_with(".weight")) continue;
    const std::string path = name.substr(0, name.rfind('.'));
    throw_user("weight " + in_quotes(name) + " has no scale", files.file_of[name],
               join(
                   layers, [&](const auto& kind) { return in_quotes(path + kind.marker); }, " or "),
               "none of them, and " + files.unknown_dtypes[name],
               "check that quant_method is that of the weights; download them again");
  }
}

}  // namespace tapml::frontend
