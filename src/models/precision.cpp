#include "models/precision.h"

#include "ir/exceptions.h"

namespace tapml::models {

namespace {

constexpr const char* kRequired = "int8";

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

bool parse_inputs(const std::string& text, bool multiplies_bytes) {
  if (text.empty() || text == "auto") return multiplies_bytes;
  if (text == "none") return false;
  if (text == kRequired) return true;
  throw_user("the inputs of linear layers cannot be quantized in this way",
             "--quantize-activations", "int8, none or auto", text);
}

}  // namespace

Precision parse_precision(const std::string& activations, const std::string& cache,
                          const std::string& accumulation, const std::string& inputs,
                          bool multiplies_bytes) {
  return {parse("--activations", activations), parse("--kv-cache", cache),
          parse_accumulation(accumulation), parse_inputs(inputs, multiplies_bytes),
          inputs == kRequired};
}

}  // namespace tapml::models
