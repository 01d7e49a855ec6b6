// The encoders of tests/golden/embeddings: configuration, weights and PyTorch's results.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "support/golden_models.h"

namespace tapml::testing {

// A folder of tests/golden/embeddings, with the given pooling.
inline GoldenModel golden_encoder(const std::string& name, const models::PoolingConfig& pooling) {
  const std::string folder = golden_path("embeddings/" + name);
  GoldenModel golden;
  golden.reference = read_tensors(folder + "/golden.safetensors");
  golden.model = frontend::read_config(folder + "/config.json", nullptr, {},
                                       {pooling.pooling, pooling.normalized});
  add_random_weights(golden);
  return golden;
}

// The names of the folders, in order.
inline std::vector<std::string> golden_encoders() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("embeddings"))) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

// PyTorch's vectors of the texts, f32[texts, d].
inline HostTensor expected_embeddings(const GoldenModel& golden,
                                      const models::PoolingConfig& pooling) {
  const HostTensor& plain =
      golden.reference.at(pooling.pooling == models::Pooling::kMean ? "mean" : "first_token");
  if (!pooling.normalized) return plain;
  const int64_t texts = plain.shape()[0], width = plain.shape()[1];
  HostTensor normed = HostTensor::zeros(DType::kF32, plain.shape());
  for (int64_t text = 0; text < texts; ++text) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += std::pow(plain.at_f64(text * width + i), 2);
    for (int64_t i = text * width; i < (text + 1) * width; ++i) {
      normed.set_f64(i, plain.at_f64(i) / std::sqrt(squares));
    }
  }
  return normed;
}

// The texts without what follows their tokens.
inline std::vector<std::vector<int32_t>> golden_texts(const GoldenModel& golden) {
  const HostTensor& tokens = golden.reference.at("tokens");
  const auto all = tokens.values<int32_t>();
  const auto counts = golden.reference.at("counts").values<int32_t>();
  const auto longest = static_cast<size_t>(tokens.shape()[1]);
  std::vector<std::vector<int32_t>> texts;
  for (size_t i = 0; i < counts.size(); ++i) {
    const auto text = all.subspan(i * longest, static_cast<size_t>(counts[i]));
    texts.emplace_back(text.begin(), text.end());
  }
  return texts;
}

}  // namespace tapml::testing
