#include "models/blocks/vision_transformer.h"

#include <cmath>

#include "models/blocks/layer.h"

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

Variable in_patches(Graph& g, Variable x, int64_t channels, int64_t side, int64_t patch) {
  const int64_t rows = side / patch, used = rows * patch;
  if (used != side) {
    x = g.op("slice", {x, make_shape({0, 0}), make_shape({used, used})},
             {{"axes", std::vector<int64_t>{2, 3}}});
  }
  x = g.op("reshape", {x, make_shape({g.batch(), channels, rows, patch, rows, patch})});
  x = g.op("permute", {x}, {{"axes", std::vector<int64_t>{0, 2, 4, 1, 3, 5}}});
  return g.op("reshape", {x, make_shape({g.batch(), rows * rows, channels * patch * patch})});
}

Variable attend_to_all(Graph& g, const Variable& q, const Variable& k, const Variable& v,
                       int64_t rows, int64_t heads) {
  const auto heads_first = [&](const Variable& x) {
    return g.op("permute", {x}, {{"axes", std::vector<int64_t>{0, 2, 1, 3}}});
  };
  const Variable queries = heads_first(q), keys = heads_first(k), values = heads_first(v);
  const int64_t width = Graph::width(q);
  Variable scores =
      g.op("matmul", {queries, keys}, {{"transpose_b", true}, {"out_dtype", DType::kF32}});
  scores = g.scaled(scores, 1 / std::sqrt(static_cast<double>(width)));
  const Variable shares = g.narrowed(g.op("softmax", {scores}, {{"axis", int64_t{-1}}}));
  const Variable mixed = heads_first(g.op("matmul", {shares, values}));
  return g.op("reshape", {mixed, make_shape({g.batch(), rows, heads * width})});
}

namespace {

Variable embed_patches(Graph& g, const std::string& path, const Variable& pixels,
                       const VisionConfig& c) {
  const std::string convolution = path + ".patch_embedding";
  g.origin(convolution);
  const Variable patches = in_patches(g, g.narrowed(pixels), c.channels, c.side, c.patch);
  const Variable kernel =
      g.stored_weight({convolution + ".weight", {c.hidden, c.channels, c.patch, c.patch}, {}});
  const Variable matrix =
      g.op("reshape", {kernel, make_shape({c.hidden, c.channels * c.patch * c.patch})});
  AttrMap attrs = {{"transpose_b", true}};
  if (g.activations() != DType::kF32) attrs["out_dtype"] = g.activations();
  Variable x = g.op("matmul", {patches, matrix}, std::move(attrs));
  if (c.patch_bias) {
    x = g.narrowed(g.add(x, g.stored_weight({convolution + ".bias", {c.hidden}, {}})));
  }
  g.origin(path);
  int64_t rows = c.patches();
  if (c.has_class) {
    const Variable own = g.stored_weight({path + ".class_embedding", {c.hidden}, {}});
    const Variable first = g.op("broadcast_to", {g.op("cast", {own}, {{"dtype", g.activations()}}),
                                                 make_shape({g.batch(), 1, c.hidden})});
    x = g.op("concat", {relax::make_tuple({first, x})}, {{"axis", int64_t{1}}});
    ++rows;
  }
  const Variable positions =
      g.stored_weight({path + ".position_embedding.weight", {rows, c.hidden}, {}});
  return g.narrowed(g.add(x, positions));
}

Variable self_attention(Graph& g, const std::string& path, const Variable& x,
                        const VisionConfig& c) {
  const int64_t rows = c.patches() + (c.has_class ? 1 : 0), width = c.hidden / c.heads;
  const auto project = [&](const char* name) {
    const Variable y = linear(g, path + name, x, c.hidden, {.bias = true});
    g.origin(path);
    return g.op("reshape", {y, make_shape({g.batch(), rows, c.heads, width})});
  };
  const Variable q = project(".q_proj"), k = project(".k_proj"), v = project(".v_proj");
  const Variable mixed = attend_to_all(g, q, k, v, rows, c.heads);
  return linear(g, path + ".out_proj", mixed, c.hidden, {.bias = true});
}

}  // namespace

Variable vision_transformer(Graph& g, const std::string& path, const Variable& pixels,
                            const VisionConfig& c) {
  const NormConfig layer_norm = {
      .kind = NormConfig::Kind::kLayer, .epsilon = c.norm_epsilon, .bias = true};
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "fc1",
                                 .down = "fc2"};
  Variable x = embed_patches(g, path + ".embeddings", pixels, c);
  if (c.first_norm) x = norm(g, path + ".pre_layrnorm", x, layer_norm);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string own = path + ".encoder.layers." + std::to_string(layer);
    x = pre_norm_layer(
        g, own, x, layer_norm,
        [&](const Variable& y) { return self_attention(g, own + ".self_attn", y, c); },
        [&](const Variable& y) { return feed_forward(g, own + ".mlp", y, mlp); },
        {.before_mix = "layer_norm1", .before_feed = "layer_norm2"});
  }
  return c.last_norm ? norm(g, path + ".post_layernorm", x, layer_norm) : x;
}

}  // namespace tapml::models
