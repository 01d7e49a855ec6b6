// InternLM 1: Llama with biases of the attention (InternLM Team 2023; the layout and names of the
// published folders' InternLMForCausalLM).
#include <array>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::internlm {

using relax::Variable;

namespace {

// From InternLM-7B's config.json.
constexpr DecoderDefaults kDefaults = {.vocabulary = 103168,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008,
                                       .scalings = RopeScalings::kNone};

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

// "dynamic" changes only texts above the context.
void read_rotary(const JsonObjectReader& json, RopeConfig& rope) {
  static constexpr std::array<std::string_view, 2> kTypes = {"origin", "dynamic"};
  const auto rotary = unwrap(json.optional_object("rotary"));
  if (!rotary) return;
  rope.theta = unwrap(rotary->float_or("base", rope.theta, 1, 1e12));
  if (rotary->has("type")) unwrap(rotary->required_choice("type", kTypes));
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_decoder(json, kDefaults, c, notes);
  read_rotary(json, c.rope);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("bias", true));
  DecoderModel model = decoder_model("internlm", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::internlm
