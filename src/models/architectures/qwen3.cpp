// Qwen 3: Llama with a norm on each head of q and k, and optionally a window in the upper layers
// (Yang et al. 2025; the layout and names of Hugging Face's Qwen3ForCausalLM). The language model
// of Qwen3-VL is the same, with positions in images and vectors of an image for its first layers.
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/image_positions.h"
#include "models/blocks/layer.h"

namespace tapml::models::qwen3 {

using relax::Variable;

namespace {

// From transformers' Qwen3Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 151936,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 32,
                                       .head_dim = 128,
                                       .context = 32768,
                                       .intermediate = 22016};
// From transformers' Qwen3VLTextConfig.
constexpr const char* kVisionText = "qwen3_vl_text";
constexpr ImageSections kSections = {.rows = 20, .columns = 20};
constexpr DecoderDefaults vision_defaults() {
  DecoderDefaults defaults = kDefaults;
  defaults.context = 128000;
  defaults.theta = 500000;
  return defaults;
}

struct Config : DecoderConfig {
  ImageSections sections;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  x = place_embeddings(g, "model", x);
  g.origin("model.rotary_emb");
  const Rope rope = image_rope(g, c.rope, c.head_dim, c.sections);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    AttentionConfig config = attention_of(c, layer);
    config.qk_norm = QkNorm::kHeads;
    config.rope = rope;
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) { return attention(g, layer, path + ".self_attn", y, config); },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
    const int64_t level = layer + 1;
    if (level < g.placed().width / c.hidden) x = add_embeddings(g, "model", x, level);
  }
  return x;
}

// "mrope_section": the numbers of pairs that turn by time, row and column.
ImageSections read_sections(const JsonObjectReader& json) {
  const auto fields = rope_fields(json);
  const char* key = "mrope_section";
  if (!fields || !fields->has(key)) return kSections;
  const std::vector<int64_t> sections = unwrap(fields->required_int_array(key, 0, kMaxHeadDim));
  if (sections.size() == 3) return {.rows = sections[1], .columns = sections[2]};
  throw_error(fields->field_error(key, "has the wrong number of sections",
                                  "three: of time, row and column"));
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  const bool is_in_vision =
      json.has("model_type") && unwrap(json.required_string("model_type")) == kVisionText;
  read_decoder(json, is_in_vision ? vision_defaults() : kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  if (is_in_vision) {
    c.sections = read_sections(json);
  } else {
    read_upper_windows(json, c);
  }
  DecoderModel model = decoder_model("qwen3", c);
  if (is_in_vision) model.embedding_width = c.hidden;
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::qwen3
