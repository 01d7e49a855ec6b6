#include "models/architectures/lfm2.h"

#include <algorithm>

#include "base/rounding.h"
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

namespace {

Variable mixed_by_attention(Graph& g, const Lfm2Config& c, int64_t layer, const std::string& path,
                            const Variable& x) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kHeads;
  config.q_norm = "q_layernorm";
  config.k_norm = "k_layernorm";
  config.output = "out_proj";
  return attention(g, layer, path, x, config);
}

// Both gates are of the token itself: after * convolution(before * x).
Variable mixed_by_convolution(Graph& g, const Lfm2Config& c, int64_t layer, const std::string& path,
                              const Variable& x) {
  const bool bias = c.convolution.bias;
  const Variable all = linear(g, path + ".in_proj", x, 3 * c.hidden, {.bias = bias});
  g.origin(path);
  const Variable parts = g.op("split", {all}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
  const Variable before = g.field(parts, 0), after = g.field(parts, 1);
  Variable y = g.op("multiply", {before, g.field(parts, 2)});
  y = short_convolution(g, "convolution." + std::to_string(layer), path + ".conv", y,
                        c.convolution);
  g.origin(path);
  y = g.op("multiply", {after, y});
  return linear(g, path + ".out_proj", y, c.hidden, {.bias = bias});
}

Variable hidden_states(Graph& g, const Lfm2Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    Variable y = norm(g, path + ".operator_norm", x, norm_of(c));
    y = c.attends.at(static_cast<size_t>(layer))
            ? mixed_by_attention(g, c, layer, path + ".self_attn", y)
            : mixed_by_convolution(g, c, layer, path + ".conv", y);
    x = residual(g, path, x, y);
    y = norm(g, path + ".ffn_norm", x, norm_of(c));
    const std::string feed = path + ".feed_forward";
    y = layer < c.dense_layers
            ? gated_feed_forward(g, feed, y,
                                 {.inner = c.intermediate, .gate = "w1", .up = "w3", .down = "w2"})
            : g.narrowed(experts(g, feed, y, c.experts));
    x = residual(g, path, x, y);
  }
  return x;
}

}  // namespace

Lfm2Config read_lfm2_config(const JsonObjectReader& json, const DecoderDefaults& defaults,
                            ConfigNotes& notes) {
  Lfm2Config c;
  read_decoder(json, defaults, c, notes);
  // The name in published configurations counts more.
  c.tied_embeddings = unwrap(json.bool_or("tie_embedding", c.tied_embeddings));
  c.convolution.kernel = unwrap(json.int_or("conv_L_cache", 3, 1, kMaxShortKernel));
  c.convolution.bias = unwrap(json.bool_or("conv_bias", false));
  return c;
}

DecoderModel lfm2_model(const char* architecture, const Lfm2Config& c) {
  DecoderModel model = decoder_model(architecture, c);
  model.last_norm = "model.embedding_norm";
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

namespace lfm2 {

namespace {

// From transformers' Lfm2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 65536,
                                       .hidden = 2560,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 128000,
                                       .intermediate = 12288,
                                       .norm_epsilon_key = "norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .theta = 1e6,
                                       .tied_embeddings = true};
constexpr int64_t kMultiple = 256;

// Without layer_types, the layers that full_attn_idxs names attend: all, if it is absent.
std::vector<bool> read_attends(const JsonObjectReader& json, const Lfm2Config& c) {
  std::vector<int64_t> named;
  const bool all = !json.has("full_attn_idxs");
  if (!all) named = unwrap(json.required_int_array("full_attn_idxs", 0, kMaxLayers));
  return read_layer_types(json, c, "full_attention", "conv", [&](int64_t layer) {
    return all || std::ranges::find(named, layer) != named.end();
  });
}

// Two thirds of the width in the configuration, times a factor, rounded up to a multiple.
int64_t read_inner(const JsonObjectReader& json, const char* key, int64_t width) {
  if (!unwrap(json.bool_or("block_auto_adjust_ff_dim", true))) return width;
  int64_t inner = 2 * width / 3;
  const Json* factor = json.json().find("block_ffn_dim_multiplier");
  if (!factor || !factor->is_null()) {
    const double by = unwrap(json.float_or("block_ffn_dim_multiplier", 1, 1e-6, 1e6));
    const int64_t multiple = unwrap(json.int_or("block_multiple_of", kMultiple, 1, kMaxWidth));
    const double scaled = by * static_cast<double>(inner);
    if (scaled > kMaxWidth) {
      throw_error(json.field_error("block_ffn_dim_multiplier", "makes the width too large",
                                   "at most " + std::to_string(kMaxWidth)));
    }
    inner = round_up(static_cast<int64_t>(scaled), multiple);
  }
  if (inner >= 1) return inner;
  throw_error(json.field_error(key, "leaves a width of 0", "a larger width"));
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderDefaults defaults = kDefaults;
  // The name in published configurations counts more.
  if (json.has("block_ff_dim")) defaults.intermediate_key = "block_ff_dim";
  Lfm2Config c = read_lfm2_config(json, defaults, notes);
  c.intermediate = read_inner(json, defaults.intermediate_key, c.intermediate);
  c.attends = read_attends(json, c);
  c.dense_layers = c.layers;
  return lfm2_model("lfm2", c);
}

}  // namespace lfm2

}  // namespace tapml::models
