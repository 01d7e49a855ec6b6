// BLOOM: linear biases in place of positions, a norm of the embeddings, biases, one matrix whose
// rows are q, k and v of each head in turn (BigScience Workshop 2022; the layout and names of
// Hugging Face's BloomForCausalLM).
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::bloom {

using relax::Variable;

namespace {

struct Config : DecoderConfig {
  bool norms_are_residuals = false;  // the sums of a layer are of its norms
};

Variable fused_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                         const AttentionConfig& c) {
  Variable qkv = linear(g, path + ".query_key_value", x, 3 * c.query_width(), {.bias = true});
  qkv = in_heads(g, qkv, c.heads, 3 * c.head_dim);
  g.origin(path);
  const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
  const Variable mixed =
      attend(g, layer, path, g.field(parts, 0), g.field(parts, 1), g.field(parts, 2), c);
  return linear(g, path + ".dense", mixed, Graph::width(x), {.bias = true});
}

Variable hidden_states(Graph& g, const Config& c) {
  const NormConfig norms = layer_norm_of(c);
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "dense_h_to_4h",
                                 .down = "dense_4h_to_h"};
  AttentionConfig attention_config = attention_of(c);
  attention_config.rope.reset();
  attention_config.slopes = alibi_slopes(c.heads);
  Variable x = embed_tokens(g, "transformer.word_embeddings", c.vocabulary, c.hidden);
  x = norm(g, "transformer.word_embeddings_layernorm", x, norms);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.h." + std::to_string(layer);
    Variable y = norm(g, path + ".input_layernorm", x, norms);
    const Variable mixed = fused_attention(g, layer, path + ".self_attention", y, attention_config);
    x = residual(g, path, c.norms_are_residuals ? y : x, mixed);
    y = norm(g, path + ".post_attention_layernorm", x, norms);
    x = residual(g, path, c.norms_are_residuals ? y : x, feed_forward(g, path + ".mlp", y, mlp));
  }
  return x;
}

// Published files have the names of either column.
const char* key_of(const JsonObjectReader& json, const char* name, const char* other) {
  return json.has(other) && !json.has(name) ? other : name;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  const auto size = [&](const char* key, int64_t fallback, int64_t most) {
    return int_or_default(json, key, fallback, 1, most, notes);
  };
  // From transformers' BloomConfig, and the length that published models were trained for.
  const char* hidden = key_of(json, "hidden_size", "n_embed");
  const char* heads = key_of(json, "n_head", "num_attention_heads");
  c.vocabulary = size("vocab_size", 250880, kMaxVocabulary);
  c.hidden = size(hidden, 64, kMaxWidth / 4);
  c.layers = size(key_of(json, "n_layer", "num_hidden_layers"), 2, kMaxLayers);
  c.heads = c.kv_heads = size(heads, 8, kMaxWidth);
  check_divides(json, hidden, c.hidden, c.heads, heads);
  c.head_dim = c.hidden / c.heads;
  c.intermediate = 4 * c.hidden;
  c.context = unwrap(json.int_or("seq_length", 2048, 1, kMaxContext));
  c.norm_epsilon = unwrap(json.float_or("layer_norm_epsilon", 1e-5, 1e-12, 1));
  c.activation = Activation::kGeluTanh;
  c.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", true));
  c.norms_are_residuals = unwrap(json.bool_or("apply_residual_connection_post_layernorm", false));
  DecoderModel model = decoder_model("bloom", c);
  model.embedding = "transformer.word_embeddings";
  model.last_norm = "transformer.ln_f";
  model.logits = logits_of(c, layer_norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::bloom
