// Small models that are not decoders over a paged cache, with seeded weights, and their results
// computed without a compiler.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/module.h"
#include "tensor/host_tensor.h"

namespace tapml::testing {

struct ToyModel {
  static constexpr int64_t kVocabulary = 37, kHidden = 12, kContext = 64;
  static constexpr int64_t kRows = 5, kFeatures = 7;  // of the encoder's input

  Module module;
  std::map<std::string, HostTensor> weights;
  bool has_encoder = false;

  // Logits of each token of a text, in f64; `features` [kRows, kFeatures] if it has an encoder.
  std::vector<std::vector<double>> logits(const std::vector<int32_t>& tokens,
                                          const HostTensor& features = {}) const;
  // The most likely continuation.
  std::vector<int32_t> greedy(std::vector<int32_t> prompt, int64_t count,
                              const HostTensor& features = {}) const;
};

// Recurrent state only: a running sum of embeddings, mixed into each token.
ToyModel toy_recurrent_model(unsigned seed);
// The same with cross-attention over an encoder's output: recurrent and fixed state.
ToyModel toy_encoder_decoder(unsigned seed);
// Random features from a seed.
HostTensor toy_features(unsigned seed);

}  // namespace tapml::testing
