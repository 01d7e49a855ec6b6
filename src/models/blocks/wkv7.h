// Linear attention of RWKV 7 (Peng et al. 2025): the state, a matrix for each head, forgets by a
// vector of the token and replaces what it has for the token's key. Everything that depends on the
// token is a product of low rank.
#pragma once

#include "models/blocks/wkv.h"

namespace tapml::models {

struct Wkv7Config {
  WkvConfig heads{.norm = "g_norm", .program = "wkv7"};
  int64_t decay_rank = 0, rate_rank = 0, value_rank = 0, gate_rank = 0;  // of "w_lora", ...
};

// The module with the scan, for DecoderModel::programs.
std::string wkv7_program(const Wkv7Config& config);

// x and `before`, the tokens before, [b, n, hidden] to [b, n, hidden], with the weights under
// `path`. The first layer sets `first_v`, its v, which later ones mix into theirs. The state is
// "wkv.<layer>" f32[heads, size, size].
relax::Variable wkv7(Graph& g, int64_t layer, const std::string& path, const relax::Variable& x,
                     const relax::Variable& before, relax::Variable& first_v,
                     const Wkv7Config& config);

}  // namespace tapml::models
