#include "models/architectures/llama.h"

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

namespace {

// From transformers' LlamaConfig.
constexpr DecoderDefaults kLlamaDefaults = {.vocabulary = 32000,
                                            .hidden = 4096,
                                            .layers = 32,
                                            .heads = 32,
                                            .kv_heads = 0,
                                            .context = 2048,
                                            .intermediate = 11008};

// LlamaForCausalLM attends to all tokens regardless of these fields.
void warn_of_windows(const JsonObjectReader& json, int64_t context, ConfigNotes& notes) {
  for (const char* key : {"sliding_window", "attention_window"}) {
    const Json* window = json.find(key);
    if (!window || !window->is_integer() || window->as_integer() >= context) continue;
    notes.warnings.push_back(json.source() + ": " + in_quotes(key) +
                             " is ignored, as in transformers: every layer attends to all tokens");
  }
}

Variable hidden_states(Graph& g, const LlamaConfig& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.mlp_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = place_embeddings(g, "model", x);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) { return gated_feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

}  // namespace

LlamaConfig read_llama_config(const JsonObjectReader& json, ConfigNotes& notes) {
  LlamaConfig config;
  read_decoder(json, kLlamaDefaults, config, notes);
  config.qkv_bias = config.output_bias = unwrap(json.bool_or("attention_bias", false));
  config.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  warn_of_windows(json, config.context, notes);
  return config;
}

DecoderModel llama_model(const LlamaConfig& c) {
  DecoderModel model = decoder_model("llama", c);
  model.embedding_width = c.hidden;
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models
