// Attention of a decoder's tokens to what an encoder made of features (Vaswani et al. 2017). Keys
// and values are computed once, by `encode`, and kept as fixed state.
#pragma once

#include "models/graph.h"

namespace tapml::models {

struct CrossAttentionConfig {
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t rows = 0;  // of the encoder's result
};

// Sets keys and values [b, rows, heads, head_dim] as "cross_k.<layer>" and "cross_v.<layer>", in
// the slots of an `encode` function.
void set_cross_state(Graph& g, int64_t layer, const relax::Variable& keys,
                     const relax::Variable& values, const CrossAttentionConfig& config);

// Where the tokens of a call find the rows: serves all layers.
struct CrossRows {
  relax::Variable table;    // i32[b * n, 1]: the slot of each token
  relax::Variable lengths;  // i32[b * n]: the rows before the last one
};
CrossRows cross_rows(Graph& g, int64_t rows);

// Queries [b, n, heads, head_dim] to [b, n, heads * head_dim]: every token attends to all rows of
// its slot. Sets the origin to `path`.
relax::Variable cross_attend(Graph& g, int64_t layer, const std::string& path,
                             const relax::Variable& queries, const CrossRows& rows,
                             const CrossAttentionConfig& config);

}  // namespace tapml::models
