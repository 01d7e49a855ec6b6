// Gemma: Llama with embeddings scaled by sqrt(hidden), norms by 1 + weight, and a gate by GELU
// (Gemma Team 2024; the layout and names of Hugging Face's GemmaForCausalLM).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::gemma {

using relax::Variable;

namespace {

// From transformers' GemmaConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 256000,
                                       .hidden = 3072,
                                       .layers = 28,
                                       .heads = 16,
                                       .kv_heads = 16,
                                       .head_dim = 256,
                                       .context = 8192,
                                       .intermediate = 24576,
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true};

NormConfig gemma_norm(const DecoderConfig& c) {
  return {.epsilon = c.norm_epsilon, .one_plus_weight = true};
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = g.scaled(x, std::sqrt(static_cast<double>(c.hidden)));
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, gemma_norm(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
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
  // Configurations of the first release say "gelu" and mean its approximation, as in transformers.
  if (c.activation == Activation::kGelu) c.activation = Activation::kGeluTanh;
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  refuse_set(json, "use_bidirectional_attention",
             "is true: attention to later tokens is not supported");
  DecoderModel model = decoder_model("gemma", c);
  model.logits = logits_of(c, gemma_norm(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gemma
