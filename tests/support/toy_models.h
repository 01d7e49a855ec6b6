// Models that are no decoders over a paged cache: small, with weights by a seed, and what they give
// computed once more without a compiler.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/module.h"
#include "tensor/host_tensor.h"

namespace tapml::testing {

struct ToyModel {
  static constexpr int64_t kVocabulary = 37, kHidden = 12, kContext = 64;
  static constexpr int64_t kRows = 5, kFeatures = 7;  // of what the encoder reads

  Module module;
  std::map<std::string, HostTensor> weights;
  bool has_encoder = false;

  // Logits of each token of a text, in f64; `features` [kRows, kFeatures] where it has an encoder.
  std::vector<std::vector<double>> logits(const std::vector<int32_t>& tokens,
                                          const HostTensor& features = {}) const;
  // The most likely continuation.
  std::vector<int32_t> greedy(std::vector<int32_t> prompt, int64_t count,
                              const HostTensor& features = {}) const;
};

// Recurrent state alone: a running sum of embeddings, which is mixed into each token.
ToyModel toy_recurrent_model(unsigned seed);
// The same with cross-attention over what an encoder made of features: recurrent and fixed state.
ToyModel toy_encoder_decoder(unsigned seed);
// Features by a seed.
HostTensor toy_features(unsigned seed);

}  // namespace tapml::testing
