// MPT: linear biases in place of positions, layer norms and matrices without biases (MosaicML 2023;
// the layout and names of Hugging Face's MptForCausalLM).
#include <optional>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::mpt {

using relax::Variable;

namespace {

struct Config : DecoderConfig {
  double scale = 0, clip = 0;  // of the scores; of queries, keys and values
};

Variable fused_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                         const AttentionConfig& c) {
  Variable qkv = linear(g, path + ".Wqkv", x, 3 * c.query_width(), {});
  g.origin(path);
  if (c.clip > 0) qkv = g.op("clip", {qkv}, {{"min", -c.clip}, {"max", c.clip}});
  const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
  const auto part = [&](int64_t index) {
    return in_heads(g, g.field(parts, index), c.heads, c.head_dim);
  };
  const Variable q = part(0), k = part(1), v = part(2);
  return linear(g, path + ".out_proj", attend(g, layer, path, q, k, v, c), Graph::width(x), {});
}

Variable hidden_states(Graph& g, const Config& c) {
  const NormConfig norms = layer_norm_of(c, false);
  const FeedForwardConfig mlp = {.inner = c.intermediate, .activation = c.activation};
  AttentionConfig attention_config = attention_of(c);
  attention_config.rope.reset();
  attention_config.slopes = alibi_slopes(c.heads);
  attention_config.scale = c.scale;
  attention_config.clip = c.clip;
  Variable x = embed_tokens(g, "transformer.wte", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.blocks." + std::to_string(layer);
    Variable y = norm(g, path + ".norm_1", x, norms);
    x = residual(g, path, x, fused_attention(g, layer, path + ".attn", y, attention_config));
    y = norm(g, path + ".norm_2", x, norms);
    x = residual(g, path, x, feed_forward(g, path + ".ffn", y, mlp));
  }
  return x;
}

// A field that the published class does not follow, or follows in one value only.
void expect_bool(const JsonObjectReader& json, const char* key, bool only, const char* reason) {
  if (unwrap(json.bool_or(key, only)) != only) {
    throw_error(json.field_error(key, reason, only ? "true" : "false"));
  }
}

void read_attention(const JsonObjectReader& json, Config& c) {
  const std::optional<JsonObjectReader> found = unwrap(json.optional_object("attn_config"));
  if (!found) return;
  const JsonObjectReader& attention = *found;
  expect_bool(attention, "alibi", true,
              "is false: positions other than linear biases are not "
              "supported");
  expect_bool(attention, "prefix_lm", false, "is true: only causal attention is supported");
  expect_bool(attention, "qk_ln", false, "is true: norms of queries and keys are not supported");
  const std::string type = unwrap(attention.string_or("attn_type", "multihead_attention"));
  if (type != "multihead_attention") {
    throw_error(attention.field_error("attn_type", "is not supported", "multihead_attention"));
  }
  if (unwrap(attention.int_or("alibi_bias_max", 8)) != 8) {
    throw_error(attention.field_error("alibi_bias_max", "is not supported", "8"));
  }
  if (attention.has("softmax_scale")) {
    c.scale = unwrap(attention.float_or("softmax_scale", 0, 1e-6, 1e6));
  }
  c.clip = read_clip(attention);
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  const auto size = [&](const char* key, int64_t fallback, int64_t most) {
    return int_or_default(json, key, fallback, 1, most, notes);
  };
  // From transformers' MptConfig.
  c.vocabulary = size("vocab_size", 50368, kMaxVocabulary);
  c.hidden = size("d_model", 2048, kMaxWidth / 4);
  c.layers = size("n_layers", 24, kMaxLayers);
  c.heads = c.kv_heads = size("n_heads", 16, kMaxWidth);
  check_divides(json, "d_model", c.hidden, c.heads, "n_heads");
  c.head_dim = c.hidden / c.heads;
  c.intermediate = 4 * c.hidden;
  c.context = size("max_seq_len", 2048, kMaxContext);
  c.norm_epsilon = unwrap(json.float_or("layer_norm_epsilon", 1e-5, 1e-12, 1));
  c.activation = Activation::kGelu;
  c.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", true));
  expect_bool(json, "no_bias", true, "is false: biases are not supported");
  if (unwrap(json.int_or("expansion_ratio", 4)) != 4) {
    throw_error(json.field_error("expansion_ratio", "is not what the published class has", "4"));
  }
  if (json.has("logit_scale") && !json.json().find("logit_scale")->is_null()) {
    throw_error(json.field_error("logit_scale", "is not supported", "no such field"));
  }
  read_attention(json, c);
  DecoderModel model = decoder_model("mpt", c);
  model.embedding = "transformer.wte";
  model.last_norm = "transformer.norm_f";
  model.logits = logits_of(c, layer_norm_of(c, false), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::mpt
