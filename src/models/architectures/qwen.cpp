// Qwen 1: Llama with one matrix for q, k and v, which has a bias (Bai et al. 2023; the layout and
// names of the published folders' QWenLMHeadModel).
#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::qwen {

using relax::Variable;

namespace {

// From Qwen-7B's config.json and its configuration class.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151936,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .context = 8192,
                                       .intermediate = 22016,
                                       .head_dim_key = "kv_channels",
                                       .norm_epsilon_key = "layer_norm_epsilon",
                                       .partial_rotary = 1,
                                       .partial_rotary_key = "rotary_pct",
                                       .theta_key = "rotary_emb_base",
                                       .scalings = RopeScalings::kNone};
constexpr int64_t kTrainedLength = 8192;  // default of "seq_length"

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.qkv = "c_attn";
  attention_config.output = "c_proj";
  const FeedForwardConfig mlp = {
      .inner = c.intermediate, .gate = "w2", .up = "w1", .down = "c_proj"};
  Variable x = embed_tokens(g, "transformer.wte", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.h." + std::to_string(layer);
    Variable y = norm(g, path + ".ln_1", x, norm_of(c));
    y = fused_qkv_attention(g, layer, path + ".attn", y, attention_config);
    x = residual(g, path, x, y);
    y = norm(g, path + ".ln_2", x, norm_of(c));
    y = gated_feed_forward(g, path + ".mlp", y, mlp);
    x = residual(g, path, x, y);
  }
  return x;
}

// Both of these change texts that are longer than those of the training, and nothing else.
void limit_context(const JsonObjectReader& json, DecoderConfig& c, ConfigNotes& notes) {
  const int64_t trained = unwrap(json.int_or("seq_length", kTrainedLength, 1, kMaxContext));
  for (const char* key : {"use_dynamic_ntk", "use_logn_attn"}) {
    if (!unwrap(json.bool_or(key, true)) || trained >= c.context) continue;
    c.context = trained;
    notes.warnings.push_back(json.source() + ": texts have at most " + std::to_string(trained) +
                             " tokens (\"seq_length\"): " + in_quotes(key) +
                             ", which longer ones need, is not supported");
  }
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  if (json.has("n_embd")) {
    throw_error(json.field_error("n_embd",
                                 "is a field of Qwen 1's first release, which is not supported",
                                 "the fields of later releases, as \"hidden_size\""));
  }
  if (!unwrap(json.bool_or("scale_attn_weights", true))) {
    throw_error(json.field_error("scale_attn_weights",
                                 "is false: attention without a scale is not supported", "true"));
  }
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  if (c.head_dim * c.heads != c.hidden) {
    throw_error(json.field_error("kv_channels",
                                 "gives heads that together are not hidden_size wide",
                                 std::to_string(c.hidden / c.heads)));
  }
  if (c.kv_heads != c.heads) {
    throw_error(json.field_error("num_key_value_heads", "is below \"num_attention_heads\"",
                                 "no such field"));
  }
  if (c.intermediate % 2 != 0) {
    throw_error(json.field_error("intermediate_size", "is odd: it counts the rows of two matrices",
                                 "an even number"));
  }
  if (!unwrap(json.bool_or("no_bias", true))) {
    throw_error(json.field_error("no_bias",
                                 "is false: biases other than c_attn's are not supported", "true"));
  }
  c.intermediate /= 2;
  c.qkv_bias = true;
  limit_context(json, c, notes);
  DecoderModel model = decoder_model("qwen", c);
  model.embedding = "transformer.wte";
  model.last_norm = "transformer.ln_f";
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::qwen
