// GPT-NeoX, Pythia and RedPajama: layer norms, biases, one matrix whose rows are q, k and v of each
// head in turn, a rotation of a part of each head, two norms beside each other (Black et al. 2022;
// the layout and names of Hugging Face's GPTNeoXForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::gpt_neox {

using relax::Variable;

namespace {

// From transformers' GPTNeoXConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50432,
                                       .hidden = 6144,
                                       .layers = 44,
                                       .heads = 64,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 24576,
                                       .norm_epsilon_key = "layer_norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 0.25,
                                       .partial_rotary_key = "rotary_pct",
                                       .theta_key = "rotary_emb_base",
                                       .activation = "gelu"};

struct Config : DecoderConfig {
  bool parallel = true;
};

Variable fused_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                         const AttentionConfig& c) {
  Variable qkv = linear(g, path + ".query_key_value", x, 3 * c.query_width(), {.bias = c.qkv_bias});
  qkv = in_heads(g, qkv, c.heads, 3 * c.head_dim);
  g.origin(path);
  const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
  const Variable mixed =
      attend(g, layer, path, g.field(parts, 0), g.field(parts, 1), g.field(parts, 2), c);
  return linear(g, path + ".dense", mixed, Graph::width(x), {.bias = c.output_bias});
}

Variable hidden_states(Graph& g, const Config& c) {
  const NormConfig config = layer_norm_of(c);
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "dense_h_to_4h",
                                 .down = "dense_4h_to_h"};
  Variable x = embed_tokens(g, "gpt_neox.embed_in", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "gpt_neox.layers." + std::to_string(layer);
    Variable y = norm(g, path + ".input_layernorm", x, config);
    const Variable mixed = fused_attention(g, layer, path + ".attention", y, attention_of(c));
    // Beside each other, both parts read the layer's input, each through its own norm.
    const Variable sum = residual(g, path, x, mixed);
    y = norm(g, path + ".post_attention_layernorm", c.parallel ? x : sum, config);
    y = feed_forward(g, path + ".mlp", y, mlp);
    x = residual(g, path, sum, y);
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  if (c.kv_heads != c.heads || c.head_dim * c.heads != c.hidden) {
    throw_error(json.field_error(
        "num_attention_heads", "does not divide the hidden size into heads with keys of their own",
        "no \"head_dim\" and no \"num_key_value_heads\""));
  }
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", true));
  c.parallel = unwrap(json.bool_or("use_parallel_residual", true));
  DecoderModel model = decoder_model("gpt_neox", c);
  model.embedding = "gpt_neox.embed_in";
  model.head = "embed_out";
  model.last_norm = "gpt_neox.final_layer_norm";
  model.logits = logits_of(c, layer_norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gpt_neox
