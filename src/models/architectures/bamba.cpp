// Bamba: state-space layers and a few attention layers, each with a gated feed-forward part (IBM,
// Princeton, CMU and UIUC 2024; the layout and names of Hugging Face's BambaForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"
#include "models/state_space_fields.h"

namespace tapml::models::bamba {

using relax::Variable;

namespace {

// From transformers' BambaConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 128000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 262144,
                                       .intermediate = 14336,
                                       .norm_epsilon = 1e-5,
                                       .partial_rotary = 0.5};

struct Config : DecoderConfig {
  StateSpaceConfig mixer;
  std::vector<bool> attends;  // by layer; the others have a state space
  bool mlp_bias = false;
};

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.mlp_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return c.attends[static_cast<size_t>(layer)]
                     ? attention(g, layer, path + ".self_attn", y, attention_of(c))
                     : state_space(g, layer, path + ".mamba", y, c.mixer);
        },
        [&](const Variable& y) { return gated_feed_forward(g, path + ".feed_forward", y, mlp); },
        {.before_feed = "pre_ff_layernorm"});
  }
  return x;
}

std::vector<bool> read_attends(const JsonObjectReader& json, const DecoderConfig& c) {
  std::vector<bool> attends(static_cast<size_t>(c.layers), false);
  const char* key = "attn_layer_indices";
  if (!json.has(key)) return attends;
  for (const int64_t layer : unwrap(json.required_int_array(key, 0, c.layers - 1))) {
    attends[static_cast<size_t>(layer)] = true;
  }
  return attends;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  if (unwrap(json.float_or("partial_rotary_factor", 0.5)) != 0.5) {
    throw_error(json.field_error("partial_rotary_factor",
                                 "is not 0.5: transformers ignores it at this place", "0.5"));
  }
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  c.attends = read_attends(json, c);
  c.mixer = read_state_space(json, {}, c, notes);
  c.mixer.activation = c.activation;
  c.mixer.norm_epsilon = c.norm_epsilon;
  DecoderModel model = decoder_model("bamba", c);
  model.last_norm = "model.final_layernorm";
  if (std::ranges::count(c.attends, false) > 0) model.programs = state_space_program(c.mixer);
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::bamba
