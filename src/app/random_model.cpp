#include "app/random_model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/log.h"
#include "base/physical_memory.h"
#include "base/rng.h"
#include "base/units.h"
#include "frontend/huggingface/config.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

HostTensor random_tensor(const std::string& name, const Shape& shape, uint64_t seed) {
  HostTensor tensor = HostTensor::zeros(DType::kF32, shape);
  const std::span<float> values = tensor.mutable_values<float>();
  fill_uniform(values, philox_key(seed, name));
  const bool matrix = shape.size() > 1;
  // A uniform number within ± 1 has the variance 1 / 3.
  const float scale =
      matrix ? std::sqrt(3.0f / static_cast<float>(std::max<int64_t>(shape.back(), 1))) : 0.5f;
  const float middle = matrix || name.ends_with(".bias") ? 0.0f : 1.0f;
  for (float& value : values) value = middle + scale * value;
  return tensor;
}

// Of the files: a weight may be stored as several tensors.
std::map<std::string, Shape> stored_shapes(const frontend::HuggingFaceConfig& config) {
  std::map<std::string, Shape> shapes;
  for (const models::WeightSpec& spec : config.weights()) {
    if (spec.parts.empty()) {
      shapes[spec.name] = spec.shape;
      continue;
    }
    for (const std::string& part : spec.parts) {
      shapes[part] = Shape(spec.shape.begin() + 1, spec.shape.end());
    }
  }
  return shapes;
}

void check_memory(const std::map<std::string, Shape>& shapes, const std::string& config) {
  const int64_t memory = physical_memory();
  double bytes = 0;  // sizes may overflow integers
  for (const auto& [name, shape] : shapes) {
    double elements = 1;
    for (const int64_t extent : shape) elements *= static_cast<double>(extent);
    bytes += elements * static_cast<double>(sizeof(double));
  }
  if (memory == 0 || bytes <= static_cast<double>(memory)) return;
  throw_user("the random weights of this configuration do not fit in the memory", config,
             "weights of at most " + size_text(memory) + " as f64",
             bytes < 0x1p62 ? size_text(static_cast<int64_t>(bytes)) : "more than 4 EiB",
             "reduce sizes in a copy of the file, such as num_hidden_layers and vocab_size");
}

}  // namespace

void write_random_model(const std::string& config, uint64_t seed, const std::string& folder) {
  const std::string text = unwrap(read_text_file(config));
  const frontend::HuggingFaceConfig read = frontend::parse_config(text, config);
  for (const std::string& warning : read.warnings) log_warning(warning);
  const std::map<std::string, Shape> shapes = stored_shapes(read);
  check_memory(shapes, config);
  std::map<std::string, HostTensor> tensors;
  for (const auto& [name, shape] : shapes) tensors[name] = random_tensor(name, shape, seed);
  const SafetensorsPieces file = safetensors_pieces(tensors, {{"format", "pt"}});
  std::vector<std::span<const std::byte>> pieces = {file.header};
  pieces.insert(pieces.end(), file.data.begin(), file.data.end());
  unwrap(write_pieces_atomic(folder + "/model.safetensors", pieces));
  unwrap(write_text_atomic(folder + "/config.json", text));
}

}  // namespace tapml::app
