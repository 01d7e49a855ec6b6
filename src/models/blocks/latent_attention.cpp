#include "models/blocks/latent_attention.h"

#include "models/blocks/attention.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

class LatentAttention {
 public:
  LatentAttention(Graph& g, std::string path, const LatentAttentionConfig& config)
      : g_(g), c_(config), path_(std::move(path)) {}

  Variable build(int64_t layer, const Variable& x) {
    const Parts queries = split(queries_of(x), c_.plain_width, c_.turned_width);
    const Variable rows = cached(layer, x);
    const Parts weights = weights_of_heads();
    // A query's product with a key, weight * latent, is that of the absorbed query with the latent.
    const Variable absorbed = by_head(queries.first, weights.first, false);
    const Variable turned = rotate(g_, queries.second, c_.rope);
    const Variable q = joined(absorbed, turned);
    const Variable mixed = g_.op("paged_attention", {q, rows, rows, g_.page_table(), g_.lengths()},
                                 {{"scale", c_.scale}, {"value_width", c_.rank}});
    const Variable values = by_head(mixed, weights.second, true);
    const Variable flat = g_.op(
        "reshape", {values, make_shape({g_.batch(), g_.tokens(), c_.heads * c_.value_width})});
    return linear(g_, path_ + ".o_proj", flat, Graph::width(x), {.bias = c_.bias});
  }

 private:
  struct Parts {
    Variable first, second;
  };

  Parts split(const Variable& x, int64_t first, int64_t second, int64_t axis = -1) {
    const Variable parts =
        g_.op("split", {x}, {{"axis", axis}, {"sizes", std::vector<int64_t>{first, second}}});
    return {g_.field(parts, 0), g_.field(parts, 1)};
  }
  Variable joined(const Variable& first, const Variable& second) {
    return g_.op("concat", {relax::make_tuple({first, second})}, {{"axis", int64_t{-1}}});
  }

  Variable queries_of(const Variable& x) {
    const int64_t width = c_.plain_width + c_.turned_width;
    Variable q = x;
    if (c_.query_rank > 0) {
      q = linear(g_, path_ + ".q_a_proj", q, c_.query_rank, {.bias = c_.bias});
      q = norm(g_, path_ + ".q_a_layernorm", q, c_.norm);
    }
    q = linear(g_, path_ + (c_.query_rank > 0 ? ".q_b_proj" : ".q_proj"), q, c_.heads * width);
    g_.origin(path_);
    return in_heads(g_, q, c_.heads, width);
  }

  // The cache with the rows of the new tokens: the normed latent, then the key with positions.
  Variable cached(int64_t layer, const Variable& x) {
    const int64_t width = c_.rank + c_.turned_width;
    const Variable both = linear(g_, path_ + ".kv_a_proj_with_mqa", x, width, {.bias = c_.bias});
    g_.origin(path_);
    const Parts parts = split(both, c_.rank, c_.turned_width);
    const Variable latent = norm(g_, path_ + ".kv_a_layernorm", parts.first, c_.norm);
    g_.origin(path_);
    const Variable key = rotate(g_, in_heads(g_, parts.second, 1, c_.turned_width), c_.rope);
    const Variable row = joined(in_heads(g_, latent, 1, c_.rank), key);
    relax::Expr& state = g_.state({.name = "latent_pool." + std::to_string(layer),
                                   .kind = StateKind::kPaged,
                                   .shape = {1, width}});
    Variable updated = g_.update("kv_append", {state, row, g_.page_table(), g_.lengths()});
    state = updated;
    return updated;
  }

  // Of keys [heads, plain_width, rank] and values [heads, value_width, rank], which files have as
  // one matrix. They depend on weights alone, so that they are made once.
  Parts weights_of_heads() {
    const int64_t width = c_.plain_width + c_.value_width;
    const Variable weight =
        g_.stored_weight({path_ + ".kv_b_proj.weight", {c_.heads * width, c_.rank}, {}});
    const Variable heads = g_.op("reshape", {weight, make_shape({c_.heads, width, c_.rank})});
    return split(heads, c_.plain_width, c_.value_width, 1);
  }

  // Each head's row of x [b, n, heads, k] times its matrix: [b, n, heads, m].
  Variable by_head(const Variable& x, const Variable& matrices, bool transposed) {
    const PrimExpr tokens = g_.batch() * g_.tokens();
    const std::vector<int64_t> axes = {1, 0, 2};
    Variable y = g_.op("reshape", {x, make_shape({tokens, c_.heads, Graph::width(x)})});
    y = g_.op("permute", {y}, {{"axes", axes}});
    AttrMap attrs;
    if (transposed) attrs["transpose_b"] = true;
    if (g_.activations() != DType::kF32) attrs["out_dtype"] = g_.activations();
    g_.add_accumulation(attrs);
    y = g_.op("matmul", {y, matrices}, std::move(attrs));
    y = g_.op("permute", {y}, {{"axes", axes}});
    return g_.op("reshape", {y, make_shape({g_.batch(), g_.tokens(), c_.heads, Graph::width(y)})});
  }

  Graph& g_;
  const LatentAttentionConfig& c_;
  std::string path_;
};

}  // namespace

Variable latent_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                          const LatentAttentionConfig& config) {
  return LatentAttention(g, path, config).build(layer, x);
}

}  // namespace tapml::models
