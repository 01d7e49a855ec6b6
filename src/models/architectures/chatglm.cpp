// ChatGLM 3 and GLM 4 9B: one matrix for q, k and v, a rotation of neighbors in the first
// half of each head, one matrix for gate and up (Zhipu 2023; the layout and names of the published
// folders' ChatGLMForConditionalGeneration).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::chatglm {

using relax::Variable;

namespace {

// From ChatGLM3-6B's config.json.
constexpr DecoderDefaults kDefaults = {.vocabulary = 65024,
                                       .hidden = 4096,
                                       .layers = 28,
                                       .heads = 32,
                                       .kv_heads = 2,
                                       .head_dim = 128,
                                       .context = 8192,
                                       .intermediate = 13696,
                                       .vocabulary_key = "padded_vocab_size",
                                       .layers_key = "num_layers",
                                       .kv_heads_key = "multi_query_group_num",
                                       .head_dim_key = "kv_channels",
                                       .context_key = "seq_length",
                                       .intermediate_key = "ffn_hidden_size",
                                       .norm_epsilon_key = "layernorm_epsilon",
                                       .norm_epsilon = 1e-5,
                                       .scalings = RopeScalings::kNone};

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.qkv = "query_key_value";
  attention_config.output = "dense";
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.gate_up = "dense_h_to_4h";
  mlp.down = "dense_4h_to_h";
  Variable x = embed_tokens(g, "transformer.embedding.word_embeddings", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.encoder.layers." + std::to_string(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return fused_qkv_attention(g, layer, path + ".self_attention", y, attention_config);
        },
        [&](const Variable& y) { return fused_gated_feed_forward(g, path + ".mlp", y, mlp); });
  }
  return x;
}

void refuse_other_forms(const JsonObjectReader& json) {
  refuse_set(json, "add_bias_linear", "is true: biases but q's, k's and v's are not supported");
  refuse_set(json, "apply_residual_connection_post_layernorm",
             "is true: residuals of normed values are not supported");
  if (!unwrap(json.bool_or("rmsnorm", true))) {
    throw_error(json.field_error("rmsnorm", "is false: layer norms are not supported", "true"));
  }
  if (!unwrap(json.bool_or("post_layer_norm", true))) {
    throw_error(json.field_error(
        "post_layer_norm", "is false: models without a norm after the layers are not supported",
        "true"));
  }
  if (json.has("position_encoding_2d")) {
    throw_error(json.field_error("position_encoding_2d", "is present: ChatGLM 1 is not supported",
                                 "no such field"));
  }
  // Without it, the rows of q, k and v are in another order.
  if (!unwrap(json.bool_or("multi_query_attention", false))) {
    throw_error(json.field_error(
        "multi_query_attention",
        "is not true: a key and a value of its own for each query is not supported", "true"));
  }
  for (const char* key : {"quantization_bit", "pre_seq_len"}) {
    const auto value = unwrap(json.optional_int(key, 0, kMaxContext));
    if (!value || *value == 0) continue;
    throw_error(json.field_error(
        key, "is not 0: quantized weights and learned prefixes are not supported", "0"));
  }
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  refuse_other_forms(json);
  c.qkv_bias = unwrap(json.bool_or("add_qkv_bias", false));
  const double ratio = unwrap(json.float_or("rope_ratio", 1, 1e-3, 1e6));
  c.rope.theta *= ratio;
  if (ratio != 1) {
    notes.warnings.push_back(
        json.source() +
        ": \"rope_ratio\" is a factor of the rotation's base, as in ChatGLM 3 and "
        "GLM 4; ChatGLM 2, which divides positions by it, is not supported");
  }
  c.rope.rotated = c.head_dim / 2;
  c.rope.interleaved = true;
  if (c.rope.rotated % 2 != 0) {
    throw_error(json.field_error("kv_channels", "has a half that is odd: it is rotated in pairs",
                                 "a multiple of 4"));
  }
  DecoderModel model = decoder_model("chatglm", c);
  model.embedding = "transformer.embedding.word_embeddings";
  model.last_norm = "transformer.encoder.final_layernorm";
  model.head = "transformer.output_layer";
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::chatglm
