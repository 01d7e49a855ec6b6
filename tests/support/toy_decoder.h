// A small decoder over paged state that reads a window of it and may take embeddings, with seeded
// weights, and its results computed without a compiler.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/module.h"
#include "llm/text_inputs.h"
#include "tensor/host_tensor.h"

namespace tapml::testing {

struct ToyDecoder {
  static constexpr int64_t kVocabulary = 37, kHidden = 12, kContext = 96, kPage = 4;

  Module module;
  std::map<std::string, HostTensor> weights;
  int64_t window = 0;  // tokens that a token attends to, with itself; 0: all before it

  bool takes_embeddings = false;

  // Logits of each token of a text, in f64.
  std::vector<std::vector<double>> logits(const std::vector<int32_t>& tokens,
                                          const llm::PlacedEmbeddings& placed = {}) const;
  // The most likely continuation.
  std::vector<int32_t> greedy(std::vector<int32_t> prompt, int64_t count,
                              const llm::PlacedEmbeddings& placed = {}) const;
};

ToyDecoder toy_decoder(unsigned seed, int64_t window, bool takes_embeddings = false);
// Random rows for these positions.
llm::PlacedEmbeddings toy_embeddings(unsigned seed, std::vector<int64_t> positions);

}  // namespace tapml::testing
