// Llama models of random small sizes, most of them odd.
#pragma once

#include <random>

#include "models/architectures/llama.h"

namespace tapml::testing {

inline models::LlamaConfig random_llama(unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](int64_t lo, int64_t hi) {
    return std::uniform_int_distribution<int64_t>(lo, hi)(random);
  };
  models::LlamaConfig config;
  config.kv_heads = pick(1, 3);
  config.heads = config.kv_heads * pick(1, 3);
  config.head_dim = 2 * pick(2, 6);
  config.hidden = pick(5, 40);
  config.intermediate = pick(5, 70);
  config.layers = pick(1, 3);
  config.vocabulary = pick(10, 90);
  config.context = 64;
  config.page_size = 8;
  config.tied_embeddings = pick(0, 1) == 1;
  return config;
}

}  // namespace tapml::testing
