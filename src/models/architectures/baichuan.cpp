// Baichuan 2 7B: Llama with one matrix for q, k and v, and a head whose rows have length 1 (Yang et
// al. 2023; the layout and names of the published folders' BaichuanForCausalLM).
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

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.qkv = "W_pack";
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
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  // The class of the 13B models has the name of the 7B models' and other fields.
  if (json.has("model_max_length") && !json.has("max_position_embeddings")) {
    throw_error(json.field_error("model_max_length",
                                 "is present without \"max_position_embeddings\", as in Baichuan "
                                 "13B, whose positions (ALiBi) are "
                                 "not supported",
                                 "\"max_position_embeddings\", as in Baichuan 2 7B"));
  }
  if (c.kv_heads != c.heads) {
    throw_error(json.field_error("num_key_value_heads", "is below \"num_attention_heads\"",
                                 "no such field"));
  }
  DecoderModel model = decoder_model("baichuan", c);
  model.logits = logits_of(c, norm_of(c), {.normalized = true});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::baichuan
