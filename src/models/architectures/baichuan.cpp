// Baichuan 2: Llama with one matrix for q, k and v, and a head whose rows have length 1; the 13B
// model with linear biases in place of rotated positions (Yang et al. 2023; the layout and names of
// the published folders' BaichuanForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::baichuan {

using relax::Variable;

namespace {

// From Baichuan2-7B's config.json.
constexpr DecoderDefaults kDefaults = {.vocabulary = 125696,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 11008,
                                       .scalings = RopeScalings::kNone};

// The 13B model's class has the name of the 7B model's. Its configuration calls the context
// otherwise.
constexpr const char* kBiasedContext = "model_max_length";

Variable hidden_states(Graph& g, const DecoderConfig& c, bool biased) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.qkv = "W_pack";
  if (biased) {
    attention_config.rope.reset();
    attention_config.slopes = alibi_slopes(c.heads);
  }
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return fused_qkv_attention(g, layer, path + ".self_attn", y, attention_config);
        },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  const bool biased = json.has(kBiasedContext) && !json.has(kDefaults.context_key);
  DecoderDefaults defaults = kDefaults;
  if (biased) defaults.context_key = kBiasedContext;
  DecoderConfig c;
  read_decoder(json, defaults, c, notes);
  if (c.kv_heads != c.heads) {
    throw_error(json.field_error("num_key_value_heads", "is below \"num_attention_heads\"",
                                 "no such field"));
  }
  DecoderModel model = decoder_model("baichuan", c);
  model.logits = logits_of(c, norm_of(c), {.normalized = true});
  model.hidden_states = [c, biased](Graph& g) { return hidden_states(g, c, biased); };
  return model;
}

}  // namespace tapml::models::baichuan
