// GPT-J: both parts of a layer beside each other, a rotation of neighbors in a part of each head, a
// head with a bias (Wang and Komatsuzaki 2021; the layout and names of Hugging Face's
// GPTJForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"

namespace tapml::models::gptj {

using relax::Variable;

namespace {

// From transformers' GPTJConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50400,
                                       .hidden = 4096,
                                       .layers = 28,
                                       .heads = 16,
                                       .context = 2048,
                                       .activation = "gelu_new"};
constexpr int64_t kRotated = 64;

Variable hidden_states(Graph& g, const DecoderConfig& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.output = "out_proj";
  const FeedForwardConfig mlp = {.inner = c.intermediate,
                                 .activation = c.activation,
                                 .bias = true,
                                 .up = "fc_in",
                                 .down = "fc_out"};
  Variable x = embed_tokens(g, "transformer.wte", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "transformer.h." + std::to_string(layer);
    const Variable y = norm(g, path + ".ln_1", x, layer_norm_of(c));
    const Variable mixed = attention(g, layer, path + ".attn", y, attention_config);
    const Variable fed = feed_forward(g, path + ".mlp", y, mlp);
    x = residual(g, path, residual(g, path, x, mixed), fed);
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  DecoderConfig c;
  read_gpt_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = true;
  // null: whole heads.
  const Json* rotated = json.json().find("rotary_dim");
  if (!rotated || !rotated->is_null()) {
    c.rope.rotated = int_or_default(json, "rotary_dim", kRotated, 2, c.head_dim, notes);
  }
  if (c.rope.rotated > c.head_dim || (c.rope.rotated > 0 ? c.rope.rotated : c.head_dim) % 2 != 0) {
    throw_error(json.field_error(rotated ? "rotary_dim" : "n_embd",
                                 "rotates a part of a head that has no halves",
                                 "an even number up to " + std::to_string(c.head_dim)));
  }
  DecoderModel model = decoder_model("gptj", c);
  model.embedding = "transformer.wte";
  model.last_norm = "transformer.ln_f";
  model.logits = logits_of(c, layer_norm_of(c), {.bias = true}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gptj
