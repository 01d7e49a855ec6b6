#include "models/blocks/attention.h"

#include <bit>
#include <cmath>
#include <iterator>

namespace tapml::models {

using relax::make_shape;
using relax::Variable;

namespace {

// Current keys or values, of `fresh` ones too if there are any.
relax::Expr& pool_with(Graph& g, const std::string& name, const Variable& fresh,
                       const AttentionConfig& config) {
  // A call reads window - 1 tokens before its own, or at most chunk - 1.
  const int64_t window = config.chunk > 0 && (config.window == 0 || config.chunk < config.window)
                             ? config.chunk
                             : config.window;
  relax::Expr& state = g.state({.name = name,
                                .kind = StateKind::kPaged,
                                .shape = {config.kv_heads, config.head_dim},
                                .window = window > 1 ? window - 1 : window});
  if (fresh) state = g.update("kv_append", {state, fresh, g.page_table(), g.lengths()});
  return state;
}

}  // namespace

std::vector<float> alibi_slopes(int64_t heads) {
  const auto low = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<float> slopes;
  const auto add = [&](int64_t number, int64_t of) {
    slopes.push_back(static_cast<float>(
        std::exp2(-8.0 * static_cast<double>(number) / static_cast<double>(of))));
  };
  for (int64_t i = 1; i <= low; ++i) add(i, low);
  for (int64_t i = 1; std::ssize(slopes) < heads; i += 2) add(i, 2 * low);
  return slopes;
}

Variable in_heads(Graph& g, const Variable& x, int64_t heads, int64_t head_dim) {
  return g.op("reshape", {x, make_shape({g.batch(), g.tokens(), heads, head_dim})});
}

Variable attend(Graph& g, int64_t layer, const std::string& path, Variable q, Variable k,
                Variable v, const AttentionConfig& config) {
  const auto norm_heads = [&] {
    q = norm(g, path + "." + config.q_norm, q, config.norm);
    if (k) k = norm(g, path + "." + config.k_norm, k, config.norm);
    g.origin(path);
  };
  if (config.value_norm && v) {
    NormConfig weightless = config.norm;
    weightless.weightless = true;
    v = norm(g, path + ".v_norm", v, weightless);
  }
  if (config.qk_norm == QkNorm::kHeads) norm_heads();
  g.origin(path);
  if (config.rope) {
    q = rotate(g, q, *config.rope);
    if (k) k = rotate(g, k, *config.rope);
  }
  if (config.qk_norm == QkNorm::kHeadsAfterRope) norm_heads();
  if (config.query_factors) q = g.narrowed(g.op("multiply", {q, config.query_factors}));
  const std::string owner = std::to_string(k ? layer : config.shared_layer);
  const relax::Expr keys = pool_with(g, "k_pool." + owner, k, config);
  const relax::Expr values = pool_with(g, "v_pool." + owner, v, config);
  const double width = static_cast<double>(config.head_dim);
  AttrMap attrs = {{"scale", config.scale != 0 ? config.scale : 1 / std::sqrt(width)}};
  if (config.window > 0) attrs["window"] = config.window;
  if (config.chunk > 0) attrs["chunk"] = config.chunk;
  if (config.soft_cap > 0) attrs["soft_cap"] = config.soft_cap;
  std::vector<relax::Expr> args = {q, keys, values, g.page_table(), g.lengths()};
  const char* name = "paged_attention";
  if (config.sinks) {
    args.push_back(g.stored_weight({path + ".sinks", {config.heads}, {}}));
    name = "paged_attention_with_sinks";
  } else if (!config.slopes.empty()) {
    args.push_back(g.constant(config.slopes));
    name = "paged_attention_with_slopes";
  } else if (const Variable ahead = g.ahead()) {
    args.push_back(ahead);
    name = "paged_attention_ahead";
  }
  const Variable mixed = g.op(name, std::move(args), std::move(attrs));
  return g.op("reshape", {mixed, make_shape({g.batch(), g.tokens(), config.query_width()})});
}

Variable attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                   const AttentionConfig& config) {
  const auto project = [&](const char* name, int64_t heads, const char* norm_name) {
    Variable y =
        linear(g, path + "." + name, x, heads * config.head_dim, {.bias = config.qkv_bias});
    if (norm_name) y = norm(g, path + "." + norm_name, y, config.norm);
    if (config.clip > 0) {
      g.origin(path);
      y = g.op("clip", {y}, {{"min", -config.clip}, {"max", config.clip}});
    }
    return in_heads(g, y, heads, config.head_dim);
  };
  const bool whole = config.qk_norm == QkNorm::kWhole;
  const Variable q = project("q_proj", config.heads, whole ? config.q_norm : nullptr);
  Variable k, v;
  if (config.shared_layer < 0) {
    k = project("k_proj", config.kv_heads, whole ? config.k_norm : nullptr);
    v = config.keys_are_values ? k : project("v_proj", config.kv_heads, nullptr);
  }
  const Variable mixed = attend(g, layer, path, q, k, v, config);
  return linear(g, path + "." + config.output, mixed, Graph::width(x),
                {.bias = config.output_bias});
}

Variable fused_qkv_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                             const AttentionConfig& config) {
  const std::vector<int64_t> sizes = {config.query_width(), config.key_width(), config.key_width()};
  const Variable qkv = linear(g, path + "." + config.qkv, x, sizes[0] + sizes[1] + sizes[2],
                              {.bias = config.qkv_bias});
  g.origin(path);
  const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sizes", sizes}});
  const Variable q = in_heads(g, g.field(parts, 0), config.heads, config.head_dim);
  const Variable k = in_heads(g, g.field(parts, 1), config.kv_heads, config.head_dim);
  const Variable v = in_heads(g, g.field(parts, 2), config.kv_heads, config.head_dim);
  const Variable mixed = attend(g, layer, path, q, k, v, config);
  return linear(g, path + "." + config.output, mixed, Graph::width(x),
                {.bias = config.output_bias});
}

}  // namespace tapml::models
