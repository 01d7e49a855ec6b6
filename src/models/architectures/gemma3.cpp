// Gemma 3, its language model: Gemma 2 with norms of the heads of q and k in place of caps,
// and rotations of two bases: of the layers with a window, five of six, and of the others (Gemma
// Team 2025; the layout and names of Hugging Face's Gemma3ForCausalLM).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::gemma3 {

using relax::Variable;

namespace {

// From transformers' Gemma3TextConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 262208,
                                       .hidden = 2304,
                                       .layers = 26,
                                       .heads = 8,
                                       .kv_heads = 4,
                                       .head_dim = 256,
                                       .context = 131072,
                                       .intermediate = 9216,
                                       .theta = 1e6,
                                       .activation_key = "hidden_activation",
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true};
constexpr int64_t kWindow = 4096;
constexpr int64_t kPattern = 6;
constexpr double kScoreScalar = 256;
constexpr double kLocalTheta = 10000;

struct Config : DecoderConfig {  // `rope` is of the layers without a window
  RopeConfig local_rope;
  double score_scalar = 0;  // scores are scaled by its inverse root
  double logit_cap = 0;     // 0: none
};

NormConfig gemma_norm(const DecoderConfig& c) {
  return {.epsilon = c.norm_epsilon, .one_plus_weight = true};
}

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  if (c.windowed[static_cast<size_t>(layer)]) config.rope = make_rope(c.local_rope, c.head_dim);
  config.scale = 1 / std::sqrt(c.score_scalar);
  config.qk_norm = QkNorm::kHeads;
  config.norm = gemma_norm(c);
  return config;
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = g.scaled(x, std::sqrt(static_cast<double>(c.hidden)));
  x = place_embeddings(g, "model", x);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = sandwich_layer(
        g, path, x, gemma_norm(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c, layer));
        },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.score_scalar = unwrap(json.float_or("query_pre_attn_scalar", kScoreScalar, 1e-6, 1e9));
  if (json.has("attn_logit_softcapping")) {
    notes.warnings.push_back(json.source() +
                             ": \"attn_logit_softcapping\" is ignored, as in transformers: scores "
                             "are not capped");
  }
  c.logit_cap = unwrap(json.float_or("final_logit_softcapping", 0, 1e-3, 1e6));
  const int64_t pattern = unwrap(json.int_or("sliding_window_pattern", kPattern, 1, kMaxLayers));
  // A layer with a window that the context does not reach still has the rotation of its kind.
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  // Before transformers 5 the base of layers with a window was a field of its own, and rope_scaling
  // was of the others.
  c.local_rope.theta = unwrap(json.float_or("rope_local_base_freq", kLocalTheta, 1, 1e12));
  read_layer_rotations(json, c, c.local_rope, notes);
  refuse_set(json, "use_bidirectional_attention",
             "is true: attention to later tokens is not supported");
  DecoderModel model = decoder_model("gemma3_text", c);
  model.embedding_width = c.hidden;
  model.logits = logits_of(c, gemma_norm(c), {.soft_cap = c.logit_cap});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gemma3
