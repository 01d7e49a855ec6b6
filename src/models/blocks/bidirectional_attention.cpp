#include "models/blocks/bidirectional_attention.h"

#include <cmath>
#include <limits>

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

// [b, n, heads, d] as [b, heads, n, d], and back.
Variable heads_exchanged(Graph& g, const Variable& x) {
  return g.op("swap_axes", {x}, {{"axis1", int64_t{1}}, {"axis2", int64_t{2}}});
}

// The product of batches of matrices in `dtype`, accumulated in f32.
Variable product(Graph& g, const Variable& a, const Variable& b, DType dtype, AttrMap attrs = {}) {
  if (g.activations() != DType::kF32) attrs["out_dtype"] = dtype;
  return g.op("matmul", {a, b}, std::move(attrs));
}

// The weights of a softmax of scores as a tensor, times the values: [b, n, heads, d].
Variable attend_by_scores(Graph& g, const Variable& q, const Variable& k, const Variable& v,
                          const BidirectionalAttentionConfig& config) {
  Variable scores = product(g, heads_exchanged(g, q), heads_exchanged(g, k), DType::kF32,
                            {{"transpose_b", true}});
  scores = g.scaled(scores, 1 / std::sqrt(static_cast<double>(config.head_dim)));
  if (config.bias) scores = g.add(scores, config.bias);
  if (g.valid_counts()) {
    const Variable counts = g.op("reshape", {g.valid_counts(), make_shape({g.batch(), 1, 1, 1})});
    const Variable seen = g.op("less", {g.token_numbers({1, 1, 1, g.tokens()}), counts});
    // Not an infinity: a row without another score would be NaN, and its values reach valid tokens
    // in the next layer, if only times 0.
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    scores = g.op("where", {seen, scores, g.number(kLowest, DType::kF32)});
  }
  const Variable weights = g.op("softmax", {scores}, {{"axis", int64_t{-1}}});
  return heads_exchanged(g, product(g, weights, heads_exchanged(g, v), g.activations()));
}

}  // namespace

Variable attend_both_ways(Graph& g, const std::string& path, Variable q, Variable k,
                          const Variable& v, const BidirectionalAttentionConfig& config) {
  g.origin(path);
  if (config.rope) {
    q = rotate(g, q, *config.rope);
    k = rotate(g, k, *config.rope);
  }
  const PrimExpr rows = (*relax::as_tensor(q->annotation)->shape)[1];
  const bool by_scores = config.bias || !g.valid_counts();
  const Variable mixed = by_scores
                             ? attend_by_scores(g, q, k, v, config)
                             : g.op("attention", {q, k, v, g.valid_counts()},
                                    {{"scale", 1 / std::sqrt(static_cast<double>(config.head_dim))},
                                     {"reach", config.reach}});
  return g.op("reshape", {mixed, make_shape({g.batch(), rows, config.heads * config.head_dim})});
}

}  // namespace tapml::models
