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

// What a model that reads images makes embeddings of, which take the place of tokens.
struct PlacedImage {
  HostTensor pixels;     // f32[channels, height, width], prepared for the model
  int64_t position = 0;  // of its first embedding in a text
};

// An image of a text: its tiles, row by row, if it is also cut into these, then the whole.
struct TextImage {
  int64_t rows = 0, columns = 0;  // of tiles
  std::vector<PlacedImage> parts;
};

struct TextInputs {
  HostTensor features;  // of a model with an encoder, which reads them before each text; else empty
  PlacedEmbeddings embeddings;
  std::vector<TextImage> images;
  // Tokens that every text begins with, in place of the tokenizer's; empty: the tokenizer's.
  std::vector<int32_t> prefix = {};

  // Tells inputs apart; empty if there are none.
  std::string digest() const;
};

}  // namespace tapml::llm
