// nanochat: Llama with norms without weights, of the embedded tokens and of the rotated heads of q
// and k too, a rotation the other way round, a plain feed-forward part with squared ReLU, and
// capped logits (Karpathy 2025; the layout and names of Hugging Face's NanoChatForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::nanochat {

using relax::Variable;

namespace {

// From transformers' NanoChatConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50304,
                                       .hidden = 768,
                                       .layers = 12,
                                       .heads = 6,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 8192,
                                       .activation = "relu2"};
constexpr double kLogitCap = 15;

NormConfig weightless_norm(const DecoderConfig& c) {
  return {.epsilon = c.norm_epsilon, .weightless = true};
}

AttentionConfig attention_of_layer(const DecoderConfig& c) {
  AttentionConfig config = attention_of(c);
  for (float& frequency : config.rope->frequencies) frequency = -frequency;
  config.qk_norm = QkNorm::kHeadsAfterRope;
  config.norm = weightless_norm(c);
  return config;
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.up = "fc1";
  mlp.down = "fc2";
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = norm(g, "model.norm", x, weightless_norm(c));
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, weightless_norm(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of_layer(c));
        },
        [&](const Variable& y) { return feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  const double cap = read_cap(json, "final_logit_softcapping", kLogitCap);
  DecoderModel model = decoder_model("nanochat", c);
  model.logits = logits_of(c, weightless_norm(c), {.soft_cap = cap});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::nanochat
