#include "random_model.h"

#include "base/rng.h"
#include "models/table.h"

namespace tapml::bench {

frontend::HuggingFaceModel random_model(const std::string& file) {
  frontend::HuggingFaceModel model = frontend::read_config(file);
  const auto& architecture = models::find_architecture(model.config.architecture);
  for (const models::WeightSpec& spec : architecture.weights(model.config.model)) {
    HostTensor tensor = HostTensor::zeros(DType::kF32, spec.shape);
    std::span<float> values = tensor.mutable_values<float>();
    fill_uniform(values, philox_key(1, spec.name));
    for (float& value : values) value *= 0.03f;
    model.weights[spec.name] = tensor;
  }
  return model;
}

}  // namespace tapml::bench
