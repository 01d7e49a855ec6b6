// Gemma 2: Gemma with a norm before and after both parts of a layer, scores and logits that a tanh
// caps, a scale of the scores of its own, and a window in every second layer (Gemma Team 2024); and
// VaultGemma, the same without the norms after the parts (Sinha et al. 2025). The layout and names
// of Hugging Face's Gemma2ForCausalLM and VaultGemmaForCausalLM.
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::gemma2 {

using relax::Variable;

namespace {

// From transformers' Gemma2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 256000,
                                       .hidden = 2304,
                                       .layers = 26,
                                       .heads = 8,
                                       .kv_heads = 4,
                                       .head_dim = 256,
                                       .context = 8192,
                                       .intermediate = 9216,
                                       .activation_key = "hidden_activation",
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true};

constexpr int64_t kWindow = 4096;
constexpr double kScoreScalar = 256;
constexpr double kScoreCap = 50;
constexpr double kLogitCap = 30;

struct Config : DecoderConfig {
  double score_scalar = 0;              // scores are scaled by its inverse root
  double score_cap = 0, logit_cap = 0;  // 0: none
  bool norms_after = true;              // of the parts of a layer
};

NormConfig gemma_norm(const DecoderConfig& c) {
  return {.epsilon = c.norm_epsilon, .one_plus_weight = true};
}

AttentionConfig attention_of_layer(const Config& c, int64_t layer) {
  AttentionConfig config = attention_of(c, layer);
  config.scale = 1 / std::sqrt(c.score_scalar);
  config.soft_cap = c.score_cap;
  return config;
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = g.scaled(x, std::sqrt(static_cast<double>(c.hidden)));
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto mix = [&](const Variable& y) {
      return attention(g, layer, path + ".self_attn", y, attention_of_layer(c, layer));
    };
    const auto feed = [&](const Variable& y) {
      return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
    };
    constexpr SandwichNames kNames;
    x = c.norms_after ? sandwich_layer(g, path, x, gemma_norm(c), mix, feed, kNames)
                      : pre_norm_layer(g, path, x, gemma_norm(c), mix, feed,
                                       {kNames.before_mix, kNames.before_feed});
  }
  return x;
}

Config read_config(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.score_scalar = unwrap(json.float_or("query_pre_attn_scalar", kScoreScalar, 1e-6, 1e9));
  c.score_cap = read_cap(json, "attn_logit_softcapping", kScoreCap);
  c.logit_cap = read_cap(json, "final_logit_softcapping", kLogitCap);
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t layer) { return layer % 2 == 0; });
  return c;
}

DecoderModel model_of(const char* architecture, const Config& c) {
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, gemma_norm(c), {.soft_cap = c.logit_cap});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  const Config c = read_config(json, notes);
  refuse_set(json, "use_bidirectional_attention",
             "is true: attention to later tokens is not supported");
  return model_of("gemma2", c);
}

DecoderModel read_vaultgemma(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c = read_config(json, notes);
  c.norms_after = false;
  return model_of("vaultgemma", c);
}

}  // namespace tapml::models::gemma2
