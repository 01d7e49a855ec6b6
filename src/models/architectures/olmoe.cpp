// OLMoE: Llama with a norm of all of q and of all of k, and routed experts in every layer
// (Muennighoff et al. 2024; the layout and names of Hugging Face's OlmoeForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"

namespace tapml::models::olmoe {

using relax::Variable;

namespace {

// From transformers' OlmoeConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50304,
                                       .hidden = 2048,
                                       .layers = 16,
                                       .heads = 16,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 2048,
                                       .norm_epsilon = 1e-5};

constexpr int64_t kExperts = 64;
constexpr int64_t kExpertsPerToken = 8;

struct Config : DecoderConfig {
  ExpertConfig experts;
  double clip = 0;  // of queries, keys and values; 0: none
};

AttentionConfig attention_of_layer(const Config& c) {
  AttentionConfig config = attention_of(c);
  config.qk_norm = QkNorm::kWhole;
  config.clip = c.clip;
  return config;
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c));
        },
        [&](const Variable& y) { return g.narrowed(experts(g, path + ".mlp", y, c.experts)); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.clip = read_clip(json);
  c.experts = {
      .experts = read_experts(json, "num_experts", kExperts, 1, c, notes),
      .inner = c.intermediate,
      .activation = c.activation,
      .router = {.renormalize = unwrap(json.bool_or("norm_topk_prob", false))},
  };
  c.experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, c.experts.experts), 1,
                     c.experts.experts, notes);
  DecoderModel model = decoder_model("olmoe", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::olmoe
