// Rotary positions (Su et al. 2021).
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph.h"

namespace tapml::models {

// Pair j < m of the first 2m elements of a head turns by position * theta^(-j / m) radians, scaled.
struct RopeConfig {
  enum class Scaling : uint8_t {
    kNone,
    kLinear,  // frequencies divided by `factor`
    kLlama3,  // piecewise: long wavelengths divided by `factor`, short ones unchanged, interpolated
              // between
    kYarn,    // by parts of the head, with larger sines and cosines (Peng et al. 2023)
    kLongRope,      // each pair by a factor of its own, with larger sines and cosines (Ding et al.
                    // 2024)
    kProportional,  // a part of the pairs turns, by the exponents of whole heads (Gemma 4)
  };
  double theta = 10000;
  Scaling scaling = Scaling::kNone;
  double factor = 1;
  double low_freq_factor = 1;   // llama3
  double high_freq_factor = 4;  // llama3, above low_freq_factor
  double beta_fast = 32,
         beta_slow = 1;  // yarn: turns over the original context that bound the parts
  bool truncate = true;  // yarn: the bounds are whole pairs
  double turning = 1;    // proportional: the part of the pairs that turns
  // longrope: what the frequency of each pair is divided by, in texts of at most original_context
  // tokens and in longer ones.
  std::vector<float> factors, long_factors;
  double scale = 1;              // yarn, longrope: of sine and cosine
  double score_scale = 1;        // yarn: of the scores of latent attention
  int64_t original_context = 0;  // llama3, yarn, longrope: context of the original training
  int64_t rotated = 0;           // 2m; 0: the whole head
  bool interleaved = false;      // pairs are neighbors (GPT-J), not m apart
};

// Radians per position of short texts, f32[m], bit-identical to transformers on a platform with a
// correctly rounded pow: every step is rounded to f32.
std::vector<float> rope_frequencies(const RopeConfig& rope, int64_t head_dim);

// YaRN's factor of sine and cosine for frequencies slowed down by `factor`, weighted by `by`.
double yarn_scale(double factor, double by);

// What the tokens of a layer have in common.
struct Rope {
  std::vector<float> frequencies;  // radians per position of each pair
  bool interleaved = false;
  double scale = 1;  // of sine and cosine
  // Of texts longer than DecoderModel::short_text; empty: the same.
  std::vector<float> long_frequencies;
  int64_t short_text = 0;
  // Of the angles of each token, f32[b, n, 1, m], in place of `frequencies`; null: a token turns by
  // the position that it has in its sequence.
  relax::Variable cosine, sine;
};

Rope make_rope(const RopeConfig& rope, int64_t head_dim);

// DecoderModel::short_text of a model whose texts are rotated so; 0: all alike.
int64_t short_text_of(const RopeConfig& rope);

// Heads [b, n, heads, head_dim] at the positions of their tokens.
relax::Variable rotate(Graph& g, const relax::Variable& x, const Rope& rope);

// Heads [..., 2m] whose pairs (xj, xm+j) turn by angles of these cosines and sines, f32[..., m].
relax::Variable rotate_by(Graph& g, const relax::Variable& x, const relax::Variable& cosine,
                          const relax::Variable& sine);

// Queries that grow with the logarithm of their position p, so that scores stay apart in long texts
// (Nakanishi 2025; Llama 4, Ministral 3).
struct QueryGrowth {
  double strength = 0;  // 0: they do not grow
  double step = 1;      // tokens that have a factor in common
  int64_t offset = 0;   // of positions
};

// 1 + strength * log(1 + floor((p + offset) / step)) of the tokens, f32[b, n, 1, 1]; null for no
// growth.
relax::Variable query_factors(Graph& g, const QueryGrowth& growth);

}  // namespace tapml::models
