#include "models/quantization.h"

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::models {

std::span<const Quantization> quantization_table() {
  static constexpr Quantization kTable[] = {
      {"q4f32", "groups of 32 integers of four bits with a scale in f32; activations in f32",
       DType::kF32, DType::kF32},
      {"q4f16", "the same in f16: scales, activations and the KV cache", DType::kF16, DType::kF16},
  };
  return kTable;
}

const Quantization& find_quantization(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Quantization& one : quantization_table()) {
    if (name == one.name) return one;
    known.emplace_back(one.name);
  }
  throw_user("unknown quantization", "--quantize", join_choices(known), std::string(name));
}

std::string packed_name(const std::string& weight) { return weight + ".packed"; }
std::string scales_name(const std::string& weight) { return weight + ".scales"; }
std::string minimums_name(const std::string& weight) { return weight + ".minimums"; }
std::string order_name(const std::string& weight) { return weight + ".order"; }

std::vector<std::string> weight_parameters(std::span<const WeightSpec> weights,
                                           const ModelDTypes& dtypes) {
  std::vector<std::string> names;
  for (const WeightSpec& spec : weights) {
    if (const auto layout = dtypes.layout_of(spec)) {
      names.push_back(packed_name(spec.name));
      names.push_back(scales_name(spec.name));
      if (layout->has_minimums) names.push_back(minimums_name(spec.name));
      if (layout->has_order) names.push_back(order_name(spec.name));
    } else {
      names.push_back(spec.name);
    }
  }
  return names;
}

void check_quantizable(std::span<const WeightSpec> weights) {
  for (const WeightSpec& weight : weights) {
    const int64_t row = weight.shape.empty() ? 1 : weight.shape.back();
    if (!weight.linear || row % kQuantizationGroup == 0) continue;
    throw_user(
        "weight " + weight.name + " cannot be quantized: its rows do not consist of whole groups",
        "--quantize", "rows of a multiple of " + std::to_string(kQuantizationGroup),
        shape_to_string(weight.shape), "run the model without --quantize");
  }
}

void check_quantized_inputs(std::span<const WeightSpec> weights, const ModelDTypes& dtypes) {
  if (!dtypes.precision.quantized_inputs) return;
  for (const WeightSpec& weight : weights) {
    const auto layout = dtypes.layout_of(weight);
    if (layout && layout->has_levels()) return;
  }
  throw_user("activations are quantized only where they are multiplied with integer weights",
             "--quantize-activations", "a model with quantized weights", "no such weights",
             "add --quantize q4f32");
}

std::optional<WeightLayout> ModelDTypes::layout_of(const WeightSpec& spec) const {
  if (const auto stored = layouts.find(spec.name); stored != layouts.end()) return stored->second;
  return quantization && spec.linear ? std::optional(quantization->layout()) : std::nullopt;
}

DType ModelDTypes::activations() const {
  return precision.activations.value_or(quantization ? quantization->activations : DType::kF32);
}

DType ModelDTypes::accumulation() const {
  const DType dtype = precision.accumulation.value_or(DType::kF32);
  if (dtype == DType::kF16 && activations() != DType::kF16) {
    throw_user("a model accumulates in f16 only with activations in f16", "--accumulation",
               "activations f16", std::string("activations ") + dtype_name(activations()),
               "add --activations f16");
  }
  return dtype;
}

}  // namespace tapml::models
