// What the texts of a model have besides their tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/host_tensor.h"

namespace tapml::llm {

// Embeddings that take the place of tokens' own, such as those of an image's patches.
struct PlacedEmbeddings {
  HostTensor rows;                 // [m, d]; empty: none
  std::vector<int64_t> positions;  // of each row in a text

  // For each of `count` tokens from `first` on: its row, or -1.
  std::vector<int32_t> placement(int64_t first, int64_t count) const;
  // Adds `more`, [k, d] of the same dtype and width, at consecutive positions from `first` on.
  void place(const HostTensor& more, int64_t first);
};

struct TextInputs {
  HostTensor features;  // of a model with an encoder, which reads them before each text; else empty
  PlacedEmbeddings embeddings;

  // Tells inputs apart; empty if there are none.
  std::string digest() const;
};

}  // namespace tapml::llm
