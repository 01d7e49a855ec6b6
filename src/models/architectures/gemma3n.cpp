// Gemma 3n, the language model alone: Gemma 3 with norms of values, last layers that attend to the
// keys and values of earlier ones, an embedding of the tokens for each layer, several streams of
// hidden states, a residual of low rank, and sparse feed-forward parts (Gemma Team 2025; the layout
// and names of Hugging Face's Gemma3nForCausalLM).
#include <algorithm>
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/altup.h"
#include "models/blocks/layer.h"
#include "models/blocks/per_layer_embedding.h"

namespace tapml::models::gemma3n {

using relax::Variable;

namespace {

// From transformers' Gemma3nTextConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 262400,
                                       .hidden = 2048,
                                       .layers = 35,
                                       .heads = 8,
                                       .kv_heads = 2,
                                       .head_dim = 256,
                                       .context = 32768,
                                       .theta = 1e6,
                                       .activation_key = "hidden_activation",
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true};
constexpr int64_t kIntermediate = 16384, kWindow = 512, kPattern = 5, kShared = 15;
constexpr int64_t kStreams = 4, kLaurelRank = 64;
constexpr size_t kSparseLayers = 10;
constexpr double kSparsity = 0.95, kLocalTheta = 1e4, kLogitCap = 30;

struct Config : DecoderConfig {  // `rope` is of the layers without a window
  RopeConfig local_rope;
  std::vector<int64_t> inner;         // widths of the feed-forward parts
  std::vector<double> sparsity;       // FeedForwardConfig::sparsity of each layer
  std::vector<int64_t> shared_layer;  // AttentionConfig::shared_layer of each layer
  int64_t laurel_rank = 0;
  AltUpConfig altup;
  bool scales_corrected = false;  // what the layer's embedding reads has factors of its own
  PerLayerConfig per_layer;
  double logit_cap = 0;  // 0: none
};

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  const auto index = static_cast<size_t>(layer);
  AttentionConfig config = attention_of(c, layer);
  if (c.windowed[index]) config.rope = make_rope(c.local_rope, c.head_dim);
  config.scale = 1;
  config.qk_norm = QkNorm::kHeads;
  config.value_norm = true;
  config.shared_layer = c.shared_layer[index];
  return config;
}

FeedForwardConfig feed_forward_of_layer(const Config& c, int64_t layer) {
  const auto index = static_cast<size_t>(layer);
  return {.inner = c.inner[index], .activation = c.activation, .sparsity = c.sparsity[index]};
}

// x + norm(right(left(x))), a residual with a learned part of low rank.
Variable laurel(Graph& g, const Config& c, const std::string& path, const Variable& x) {
  Variable y = linear(g, path + ".linear_left", x, c.laurel_rank);
  y = linear(g, path + ".linear_right", y, c.hidden);
  return residual(g, path, x, norm(g, path + ".post_laurel_norm", y, norm_of(c)));
}

// Streams [b, n, streams, hidden] after the layer.
Variable layer_of(Graph& g, const Config& c, int64_t layer, const Variable& streams,
                  const Variable& embedding) {
  const std::string path = layer_path(layer);
  const auto norm_at = [&](const char* name, const Variable& y) {
    return norm(g, path + name, y, norm_of(c));
  };
  const Variable predictions = altup_predict(g, path + ".altup", streams, c.altup);
  g.origin(path);
  const Variable x = altup_stream(g, predictions, c.altup.active);
  const Variable y = norm_at(".input_layernorm", x);
  const Variable low_rank = laurel(g, c, path + ".laurel", y);
  Variable mixed = attention(g, layer, path + ".self_attn", y, attention_of_layer(c, layer));
  mixed = residual(g, path, x, norm_at(".post_attention_layernorm", mixed));
  mixed = g.scaled(g.add(mixed, low_rank), std::sqrt(0.5));
  const Variable fed =
      gated_feed_forward(g, path + ".mlp", norm_at(".pre_feedforward_layernorm", mixed),
                         feed_forward_of_layer(c, layer));
  const Variable result = residual(g, path, mixed, norm_at(".post_feedforward_layernorm", fed));
  const Variable corrected = altup_correct(g, path + ".altup", predictions, result, c.altup);
  g.origin(path + ".altup");
  Variable first = altup_stream(g, corrected, c.altup.active);
  if (c.scales_corrected) {
    const Variable factors =
        g.stored_weight({path + ".altup.correct_output_scale", {c.hidden}, {}});
    first = g.narrowed(g.op("multiply", {first, factors}));
  }
  const Variable own = per_layer_part(g, path, first, embedding, c.per_layer);
  g.origin(path);
  return altup_add_to_others(g, corrected, own, c.altup);
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = g.scaled(x, std::sqrt(static_cast<double>(c.hidden)));
  const std::vector<Variable> embeddings = per_layer_embeddings(g, x, c.per_layer);
  Variable streams = altup_streams(g, x, c.altup);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    streams = layer_of(g, c, layer, streams, embeddings[static_cast<size_t>(layer)]);
  }
  return altup_mean(g, streams, c.altup);
}

// Each of the two has a value for each layer.
void read_feed_forward(const JsonObjectReader& json, Config& c) {
  const auto layers = static_cast<size_t>(c.layers);
  const char* inner = "intermediate_size";
  const char* sparsity = "activation_sparsity_pattern";
  const auto check = [&](const char* key, size_t values) {
    if (values == layers) return;
    throw_error(json.field_error(key, "has the wrong number of layers",
                                 std::to_string(layers) + " of them"));
  };
  const Json* field = json.json().find(inner);
  const bool is_list = field && field->is_array();
  c.inner = is_list ? unwrap(json.required_int_array(inner, 1, kMaxWidth))
                    : std::vector(layers, unwrap(json.int_or(inner, kIntermediate, 1, kMaxWidth)));
  check(inner, c.inner.size());
  c.sparsity.assign(layers, 0);
  if (layers > kSparseLayers) std::fill_n(c.sparsity.begin(), kSparseLayers, kSparsity);
  if (json.has(sparsity)) c.sparsity = read_numbers(json, sparsity, 0, 0.9999);
  check(sparsity, c.sparsity.size());
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t layer) { return (layer + 1) % kPattern != 0; });
  c.local_rope.theta = unwrap(json.float_or("rope_local_base_freq", kLocalTheta, 1, 1e12));
  read_layer_rotations(json, c, c.local_rope, notes);
  c.shared_layer = read_shared_layers(json, c, kShared);
  read_feed_forward(json, c);
  c.laurel_rank = unwrap(json.int_or("laurel_rank", kLaurelRank, 1, kMaxWidth));
  c.altup = {.streams = unwrap(json.int_or("altup_num_inputs", kStreams, 1, 64)),
             .norm = norm_of(c)};
  c.altup.active = unwrap(json.int_or("altup_active_idx", 0, 0, c.altup.streams - 1));
  c.scales_corrected = unwrap(json.bool_or("altup_correct_scale", true));
  c.per_layer = read_per_layer_embedding(json, c, 1, notes);
  c.logit_cap = unwrap(json.float_or("final_logit_softcapping", kLogitCap, 1e-3, 1e6));
  DecoderModel model = decoder_model("gemma3n_text", c);
  model.logits = logits_of(c, norm_of(c), {.soft_cap = c.logit_cap});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gemma3n
