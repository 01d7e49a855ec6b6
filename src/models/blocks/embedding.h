// Both ends of a decoder: the embedding of tokens, and the head.
#pragma once

#include "models/graph.h"

namespace tapml::models {

// Rows of "<path>.weight" [rows, hidden] at `indices` i32[b, n]: [b, n, hidden] in the dtype of
// activations. Sets the origin to `path`.
relax::Variable embed(Graph& g, const std::string& path, int64_t rows, int64_t hidden,
                      const relax::Variable& indices);
// The rows of the tokens.
relax::Variable embed_tokens(Graph& g, const std::string& path, int64_t vocabulary, int64_t hidden);

// Rows of "<path>.weight" [rows, hidden] at the tokens' positions plus `offset` (learned positions,
// Vaswani et al. 2017, section 3.5).
relax::Variable embed_positions(Graph& g, const std::string& path, int64_t rows, int64_t hidden,
                                int64_t offset = 0);

// The embeddings x [b, n, hidden] of the tokens, with the function's embeddings in the place of
// those that have one: x itself in a function that takes none. Sets the origin to `path`.
relax::Variable place_embeddings(Graph& g, const std::string& path, const relax::Variable& x);

// x [b, n, hidden] plus, for each token that has an embedding, the vector `level` from 1 on beside
// it (ImageEncoder::levels): x itself in a function that takes none. Sets the origin to `path`.
relax::Variable add_embeddings(Graph& g, const std::string& path, const relax::Variable& x,
                               int64_t level);

struct HeadConfig {
  std::string weight = "lm_head";  // its path, or the embedding's for a tied head
  std::string origin = "lm_head";  // also the path of its bias
  int64_t vocabulary = 0;
  bool bias = false;
  bool normalized = false;  // each row of the weight is divided by its length
  double scale = 1;         // factor of the logits
  double soft_cap = 0;      // logits become c * tanh(logits / c); 0: none
};

// Logits f32[..., vocabulary] of hidden states [..., hidden].
relax::Variable head(Graph& g, const relax::Variable& x, const HeadConfig& config);

}  // namespace tapml::models
