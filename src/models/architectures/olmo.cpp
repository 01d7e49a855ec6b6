// OLMo 1: Llama with layer norms without weights (Groeneveld et al. 2024; the layout and names of
// Hugging Face's OlmoForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::olmo {

using relax::Variable;

namespace {

// From transformers' OlmoConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50304,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008};
// The class has it, not its configuration.
constexpr NormConfig kNorm = {
    .kind = NormConfig::Kind::kLayer, .epsilon = 1e-5, .weightless = true};

Variable hidden_states(Graph& g, const DecoderConfig& c, double clip) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.clip = clip;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, kNorm,
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_config);
        },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  const double clip = read_clip(json);
  DecoderModel model = decoder_model("olmo", c);
  model.logits = logits_of(c, kNorm);
  model.hidden_states = [c, clip](Graph& g) { return hidden_states(g, c, clip); };
  return model;
}

}  // namespace tapml::models::olmo
