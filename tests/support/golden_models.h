// The models of tests/golden/logits: configuration, weights and PyTorch's results.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include "abi/model_interface.h"
#include "base/rng.h"
#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "support/golden_path.h"

namespace tapml::testing {

struct GoldenModel {
  frontend::HuggingFaceModel model;             // with weights
  std::map<std::string, HostTensor> reference;  // the tensors of golden.safetensors

  ModelInterface interface() const { return unwrap(model_interface_of(model.module.all_attrs())); }
};

inline std::map<std::string, HostTensor> read_tensors(const std::string& path) {
  MappedFile file = unwrap(map_file(path));
  return unwrap(parse_safetensors(file.bytes, file.owner, path)).tensors;
}

// A tensor of tests/golden/rng.py: norms around 1, biases and others around 0.
inline HostTensor random_weight(uint64_t seed, const models::WeightSpec& spec, DType dtype,
                                float matrix_scale = 0.08f) {
  HostTensor tensor = HostTensor::zeros(dtype, spec.shape);
  std::vector<float> units(static_cast<size_t>(tensor.size()));
  fill_uniform(units, philox_key(seed, spec.name));
  const bool is_bias = spec.name.ends_with(".bias");
  const bool is_norm = !is_bias && spec.shape.size() == 1;
  for (size_t i = 0; i < units.size(); ++i) {
    const float scale = is_bias || is_norm ? 0.1f : matrix_scale;
    const float value = (is_norm ? 1.0f : 0.0f) + scale * units[i];
    tensor.set_f64(static_cast<int64_t>(i), value);
  }
  return tensor;
}

// A weight that files store in parts is made of the parts' tensors.
inline HostTensor random_weight_of(uint64_t seed, const models::WeightSpec& spec, DType dtype,
                                   float matrix_scale = 0.08f) {
  if (spec.parts.empty()) return random_weight(seed, spec, dtype, matrix_scale);
  HostTensor whole = HostTensor::zeros(dtype, spec.shape);
  const Shape shape(spec.shape.begin() + 1, spec.shape.end());
  auto to = whole.mutable_bytes().begin();
  for (const std::string& part : spec.parts) {
    to = std::ranges::copy(random_weight(seed, {part, shape, {}}, dtype, matrix_scale).bytes(), to)
             .out;
  }
  return whole;
}

// The random weights that a golden model's logits were computed with.
inline void add_random_weights(GoldenModel& golden) {
  const auto seed = static_cast<uint64_t>(golden.reference.at("seed").values<int32_t>()[0]);
  const auto scale = golden.reference.find("scale");
  const float matrix_scale =
      scale == golden.reference.end() ? 0.08f : scale->second.values<float>()[0];
  for (const models::WeightSpec& spec : golden.model.config.weights()) {
    golden.model.weights[spec.name] =
        random_weight_of(seed, spec, golden.model.config.dtype, matrix_scale);
  }
}

// A folder of tests/golden/logits, or of another part of tests/golden.
inline GoldenModel golden_model(const std::string& name, const std::string& part = "logits") {
  const std::string root = TAPML_SOURCE_DIR;
  const std::string folder = golden_path(part + "/" + name);
  GoldenModel golden;
  golden.reference = read_tensors(folder + "/golden.safetensors");
  if (name == "demo") {
    golden.model = frontend::read_model(root + "/models/demo");
    return golden;
  }
  golden.model = frontend::read_config(folder + "/config.json");
  add_random_weights(golden);
  return golden;
}

// The folders of tests/golden/logits for architectures other than the first two, in order; a test
// of each walks all of them.
inline std::vector<std::string> other_golden_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("logits"))) {
    const std::string config = entry.path() / "config.json";
    if (!std::filesystem::exists(config)) continue;
    const std::string name = entry.path().filename();
    const std::string text = unwrap(read_text_file(config));
    const auto is = [&](const char* type) {
      return text.find("\"model_type\": \"" + std::string(type) + "\"") != std::string::npos;
    };
    if (!is("llama") && !is("qwen2_moe")) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// The folders of tests/golden/images, of models that read images.
inline std::vector<std::string> image_golden_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("images"))) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

// The folders of tests/golden/speech, of models that read sound.
inline std::vector<std::string> speech_golden_models() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("speech"))) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

// The allowed distance of logits from the reference: 1e-4 times the largest logit, at least 1e-4.
inline double logit_tolerance(const HostTensor& expected) {
  double largest = 1;
  for (int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected.at_f64(i)));
  }
  return 1e-4 * largest;
}

// Largest |actual - expected|, where `actual` may be a part that starts at element `first`.
inline double largest_difference(const HostTensor& actual, const HostTensor& expected,
                                 int64_t first = 0) {
  double largest = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(actual.at_f64(i) - expected.at_f64(first + i));
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}  // namespace tapml::testing
