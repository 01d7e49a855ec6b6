// StarCoder and SantaCoder: GPT-2 with one head of keys and values for all queries, or with q, k
// and v in turns for each head (Li et al. 2023; the layout and names of Hugging Face's
// GPTBigCodeForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"

namespace tapml::models::gpt_bigcode {

using relax::Variable;

namespace {

// From transformers' GPTBigCodeConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50257,
                                       .hidden = 768,
                                       .layers = 12,
                                       .heads = 12,
                                       .context = 1024,
                                       .activation = "gelu_pytorch_tanh",
                                       .tied_embeddings = true};

Variable fused_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                         const AttentionConfig& c) {
  const LinearConfig projection = {.bias = true};
  Variable qkv = linear(g, path + ".c_attn", x, c.query_width() + 2 * c.key_width(), projection);
  Variable q, k, v;
  if (c.kv_heads == 1) {
    g.origin(path);
    const Variable parts =
        g.op("split", {qkv},
             {{"axis", int64_t{-1}},
              {"sizes", std::vector<int64_t>{c.query_width(), c.head_dim, c.head_dim}}});
    q = in_heads(g, g.field(parts, 0), c.heads, c.head_dim);
    k = in_heads(g, g.field(parts, 1), 1, c.head_dim);
    v = in_heads(g, g.field(parts, 2), 1, c.head_dim);
  } else {
    qkv = in_heads(g, qkv, c.heads, 3 * c.head_dim);
    g.origin(path);
    const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
    q = g.field(parts, 0);
    k = g.field(parts, 1);
    v = g.field(parts, 2);
  }
  const Variable mixed = attend(g, layer, path, q, k, v, c);
  return linear(g, path + ".c_proj", mixed, Graph::width(x), projection);
}

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  const NormConfig config = layer_norm_of(c);
  AttentionConfig attention_config = attention_of(c);
  attention_config.rope.reset();
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "c_fc",
                                 .down = "c_proj"};
  const Variable tokens = embed_tokens(g, "transformer.wte", c.vocabulary, c.hidden);
  const Variable positions = embed_positions(g, "transformer.wpe", c.context, c.hidden);
  Variable x = residual(g, "transformer", tokens, positions);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.h." + std::to_string(layer);
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
  DecoderConfig c;
  read_gpt_decoder(json, kDefaults, c, notes);
  if (unwrap(json.bool_or("multi_query", true))) c.kv_heads = 1;
  DecoderModel model = decoder_model("gpt_bigcode", c);
  model.embedding = "transformer.wte";
  model.last_norm = "transformer.ln_f";
  model.logits = logits_of(c, layer_norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gpt_bigcode
