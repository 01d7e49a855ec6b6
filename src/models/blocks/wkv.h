// Linear attention with a state of a matrix for each head (Peng et al. 2024): the scan is a tensor
// program of the architecture, which is its own specification.
#pragma once

#include "models/graph.h"

namespace tapml::models {

struct WkvConfig {
  int64_t heads = 0;
  int64_t size = 0;             // of a head
  double norm_epsilon = 64e-5;  // of the norm of each head
  const char* norm = "ln_x";    // its name
  const char* program = "wkv";  // name of the scan
};

// The scan's text with numbers in the place of HEADS, SIZE, ALL (HEADS * SIZE), PAIR (2 * SIZE) and
// LANES (a divisor of SIZE that fits vectors): the sizes of local buffers must be constants.
std::string wkv_program(std::string text, const WkvConfig& config);

// What the scan reads of x: [b, n, heads, size], in f32.
relax::Variable in_wkv_heads(Graph& g, const relax::Variable& x, const WkvConfig& config);

// The scan `config.program` over `inputs`, which the program takes before the slots and the state:
// [b, n, heads * size] in f32, each head normed by "<path>.<config.norm>". The state is
// "wkv.<layer>" f32[heads, size, size].
relax::Variable wkv_scan(Graph& g, int64_t layer, const std::string& path,
                         std::vector<relax::Expr> inputs, const WkvConfig& config);

// The scan of RWKV 5 and 6. r, k, v: [b, n, heads * size]; decay: factors of the state, f32, as the
// program takes them;
// "<path>.time_faaaa" [heads, size] is the weight of a token's own k and v.
relax::Variable wkv(Graph& g, int64_t layer, const std::string& path, const relax::Variable& r,
                    const relax::Variable& k, const relax::Variable& v,
                    const relax::Variable& decay, const WkvConfig& config);

}  // namespace tapml::models
