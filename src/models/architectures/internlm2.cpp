// InternLM 2 and 2.5: Llama with one matrix for q, k and v, whose rows are the queries, the key and
// the value of one group of heads after another (Cai et al. 2024; the layout and names of the
// published folders' InternLM2ForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::internlm2 {

using relax::Variable;

namespace {

// From the configuration class, InternLM2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 103168,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008,
                                       .norm_epsilon = 1e-6,
                                       .scalings = RopeScalings::kLinearAndDynamic};

Variable grouped_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                           const AttentionConfig& c) {
  const int64_t queries = c.query_width() / c.kv_heads;  // of a group
  const int64_t group = queries + 2 * c.head_dim;
  const Variable qkv = linear(g, path + ".wqkv", x, c.kv_heads * group, {.bias = c.qkv_bias});
  g.origin(path);
  const Variable parts = g.op(
      "split", {in_heads(g, qkv, c.kv_heads, group)},
      {{"axis", int64_t{-1}}, {"sizes", std::vector<int64_t>{queries, c.head_dim, c.head_dim}}});
  const Variable q = in_heads(g, g.field(parts, 0), c.heads, c.head_dim);
  const Variable mixed = attend(g, layer, path, q, g.field(parts, 1), g.field(parts, 2), c);
  return linear(g, path + ".wo", mixed, Graph::width(x), {.bias = c.output_bias});
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.gate = "w1";
  mlp.up = "w3";
  mlp.down = "w2";
  Variable x = embed_tokens(g, "model.tok_embeddings", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    Variable y = norm(g, path + ".attention_norm", x, norm_of(c));
    y = grouped_attention(g, layer, path + ".attention", y, attention_of(c));
    x = residual(g, path, x, y);
    y = norm(g, path + ".ffn_norm", x, norm_of(c));
    y = gated_feed_forward(g, path + ".feed_forward", y, mlp);
    x = residual(g, path, x, y);
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("bias", true));
  DecoderModel model = decoder_model("internlm2", c);
  model.embedding = "model.tok_embeddings";
  model.head = "output";
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::internlm2
