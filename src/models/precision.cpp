#include "models/precision.h"

#include "ir/exceptions.h"

namespace tapml::models {

namespace {

std::optional<DType> parse(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    if (text == dtype_name(dtype)) return dtype;
  }
  throw_user("a model does not compute in this dtype", option, "f32, f16 or bf16", text);
}

std::optional<DType> parse_accumulation(const std::string& text) {
  if (text.empty()) return std::nullopt;
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    if (text == dtype_name(dtype)) return dtype;
  }
  throw_user("a model does not accumulate in this dtype", "--accumulation", "f32 or f16", text);
}

bool parse_inputs(const std::string& text) {
  if (text.empty() || text == "none") return false;
  if (text == "int8") return true;
  throw_user("the inputs of linear layers cannot be quantized in this way",
             "--quantize-activations", "int8 or none", text);
}

}  // namespace

Precision parse_precision(const std::string& activations, const std::string& cache,
                          const std::string& accumulation, const std::string& inputs) {
  return {parse("--activations", activations), parse("--kv-cache", cache),
          parse_accumulation(accumulation), parse_inputs(inputs)};
}

}  // namespace tapml::models
