// Granite 3: Llama with four factors: of embeddings, of scores, of what a layer adds, and of logits
// (IBM 2024; the layout and names of Hugging Face's GraniteForCausalLM).
#include "models/architectures/granite.h"

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models {

GraniteFactors read_granite_factors(const JsonObjectReader& json) {
  const auto factor = [&](const char* key) { return unwrap(json.float_or(key, 1, 1e-9, 1e9)); };
  return {.embedding = factor("embedding_multiplier"),
          .residual = factor("residual_multiplier"),
          .score = factor("attention_multiplier"),
          .logit_divisor = factor("logits_scaling")};
}

relax::Variable granite_hidden_states(Graph& g, const DecoderConfig& c,
                                      const GraniteFactors& factors, const GranitePart& mix,
                                      const GranitePart& feed) {
  relax::Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  g.origin("model");
  x = g.scaled(x, factors.embedding);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto scaled = [&](const GranitePart& part) {
      return [&](const relax::Variable& y) {
        const relax::Variable z = part(layer, path, y);
        g.origin(path);
        return g.scaled(z, factors.residual);
      };
    };
    x = pre_norm_layer(g, path, x, norm_of(c), scaled(mix), scaled(feed));
  }
  return x;
}

namespace granite {

using relax::Variable;

namespace {

// From transformers' GraniteConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008};

struct Config : DecoderConfig {
  GraniteFactors factors;
  bool mlp_bias = false;
};

Variable hidden_states(Graph& g, const Config& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.scale = c.factors.score;
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.mlp_bias;
  return granite_hidden_states(
      g, c, c.factors,
      [&](int64_t layer, const std::string& path, const Variable& y) {
        return attention(g, layer, path + ".self_attn", y, attention_config);
      },
      [&](int64_t, const std::string& path, const Variable& y) {
        return gated_feed_forward(g, path + ".mlp", y, mlp);
      });
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  c.factors = read_granite_factors(json);
  DecoderModel model = decoder_model("granite", c);
  model.logits = logits_of(c, norm_of(c), {.scale = 1 / c.factors.logit_divisor});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace granite

}  // namespace tapml::models
