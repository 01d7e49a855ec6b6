#include "random_model.h"

#include "base/rng.h"
#include "frontend/huggingface/quantize.h"
#include "models/decoder.h"

namespace tapml::bench {

namespace {

HostTensor random_weight(const models::WeightSpec& spec, DType dtype) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, spec.shape);
  std::span<float> values = tensor.mutable_values<float>();
  fill_uniform(values, philox_key(1, spec.name));
  for (float& value : values) value *= 0.03f;
  if (dtype == DType::kF32) return tensor;
  HostTensor narrow = HostTensor::zeros(dtype, spec.shape);
  for (int64_t i = 0; i < narrow.size(); ++i) narrow.set_f64(i, values[static_cast<size_t>(i)]);
  return narrow;
}

}  // namespace

frontend::HuggingFaceModel random_model(const std::string& file, const RandomWeights& weights) {
  frontend::HuggingFaceModel model = frontend::read_config(file);
  const models::ModelDTypes dtypes = {
      .fallback = weights.dtype,
      .by_name = {},
      .quantization = weights.quantization,
      .precision = {.activations = {}, .quantized_inputs = weights.quantized_inputs}};
  model.module = models::build_decoder(model.config.model, dtypes);
  model.quantization = weights.quantization;
  for (const models::WeightSpec& spec : models::decoder_weights(model.config.model)) {
    HostTensor tensor = random_weight(spec, weights.dtype);
    const auto layout = dtypes.layout_of(spec);
    if (!layout) {
      model.weights[spec.name] = std::move(tensor);
      continue;
    }
    frontend::QuantizedWeight quantized =
        frontend::quantize_weight(spec, {&tensor, 1}, *layout, file);
    model.weights[models::packed_name(spec.name)] = std::move(quantized.packed);
    model.weights[models::scales_name(spec.name)] = std::move(quantized.scales);
    if (!quantized.minimums) continue;
    model.weights[models::minimums_name(spec.name)] = std::move(*quantized.minimums);
  }
  return model;
}

}  // namespace tapml::bench
