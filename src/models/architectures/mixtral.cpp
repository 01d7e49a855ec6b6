// Mixtral: Mistral with routed experts in every layer, whose shares sum to 1 (Jiang et al. 2024;
// the layout and names of Hugging Face's MixtralForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"

namespace tapml::models::mixtral {

using relax::Variable;

namespace {

// From transformers' MixtralConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 131072,
                                       .intermediate = 14336,
                                       .norm_epsilon = 1e-5,
                                       .theta = 1e6};

constexpr int64_t kExperts = 8;
constexpr int64_t kExpertsPerToken = 2;

struct Config : DecoderConfig {
  int64_t experts = 0, per_token = 0;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) {
          return g.narrowed(experts(g, path + ".block_sparse_moe", y,
                                    {.experts = c.experts,
                                     .per_token = c.per_token,
                                     .inner = c.intermediate,
                                     .activation = c.activation,
                                     .router = {.renormalize = true},
                                     .gate = "w1",
                                     .up = "w3",
                                     .down = "w2"}));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.window = read_window(json, c, 0);
  c.experts = read_experts(json, "num_local_experts", kExperts, 1, c, notes);
  c.per_token = int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, c.experts),
                               1, c.experts, notes);
  DecoderModel model = decoder_model("mixtral", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::mixtral
