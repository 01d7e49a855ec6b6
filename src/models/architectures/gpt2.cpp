// GPT-2: learned positions, layer norms, biases, a plain feed-forward part, matrices stored as
// [inputs, outputs] (Radford et al. 2019; the layout and names of Hugging Face's GPT2LMHeadModel).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::gpt2 {

using relax::Variable;

namespace {

// From transformers' GPT2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50257,
                                       .hidden = 768,
                                       .layers = 12,
                                       .heads = 12,
                                       .context = 1024,
                                       .activation = "gelu_new",
                                       .tied_embeddings = true};

struct Config : DecoderConfig {
  bool scales_by_layer = false;  // scores are also divided by the layer's number, from 1
};

Variable fused_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                         const AttentionConfig& c) {
  const LinearConfig projection = {.bias = true, .transposed = true};
  const Variable qkv = linear(g, path + ".c_attn", x, 3 * c.query_width(), projection);
  g.origin(path);
  const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
  const auto part = [&](int64_t index) {
    return in_heads(g, g.field(parts, index), c.heads, c.head_dim);
  };
  const Variable q = part(0), k = part(1), v = part(2);
  return linear(g, path + ".c_proj", attend(g, layer, path, q, k, v, c), Graph::width(x),
                projection);
}

Variable hidden_states(Graph& g, const Config& c) {
  const NormConfig config = layer_norm_of(c);
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "c_fc",
                                 .down = "c_proj",
                                 .transposed = true};
  const Variable tokens = embed_tokens(g, "transformer.wte", c.vocabulary, c.hidden);
  const Variable positions = embed_positions(g, "transformer.wpe", c.context, c.hidden);
  Variable x = residual(g, "transformer", tokens, positions);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.h." + std::to_string(layer);
    AttentionConfig attention_config = attention_of(c);
    attention_config.rope.reset();
    const double width = static_cast<double>(c.head_dim);
    const double number = c.scales_by_layer ? static_cast<double>(layer + 1) : 1;
    attention_config.scale = 1 / (std::sqrt(width) * number);
    Variable y = norm(g, path + ".ln_1", x, config);
    y = fused_attention(g, layer, path + ".attn", y, attention_config);
    x = residual(g, path, x, y);
    y = norm(g, path + ".ln_2", x, config);
    y = feed_forward(g, path + ".mlp", y, mlp);
    x = residual(g, path, x, y);
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_gpt_decoder(json, kDefaults, c, notes);
  c.scales_by_layer = unwrap(json.bool_or("scale_attn_by_inverse_layer_idx", false));
  DecoderModel model = decoder_model("gpt2", c);
  model.embedding = "transformer.wte";
  model.last_norm = "transformer.ln_f";
  model.logits = logits_of(c, layer_norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gpt2
