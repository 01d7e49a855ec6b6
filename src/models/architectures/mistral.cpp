// Mistral: Llama whose tokens attend to a window of the newest ones (Jiang et al. 2023), and what
// followed it: Ministral (2024) and Code World Model (Copet et al. 2025) with the window in some
// layers, and Ministral 3, whose queries grow with their position (2025). The layout and names of
// Hugging Face's MistralForCausalLM, MinistralForCausalLM, CwmForCausalLM and
// Ministral3ForCausalLM.
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::mistral {

using relax::Variable;

namespace {

// From transformers' MistralConfig and MinistralConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 131072,
                                       .intermediate = 14336};
constexpr int64_t kWindow = 4096;

// From transformers' Ministral3Config.
constexpr DecoderDefaults kMinistral3 = {.vocabulary = 131072,
                                         .hidden = 4096,
                                         .layers = 34,
                                         .heads = 32,
                                         .kv_heads = 8,
                                         .head_dim = 128,
                                         .context = 262144,
                                         .intermediate = 14336,
                                         .norm_epsilon = 1e-5};
constexpr double kTheta = 1e6, kFactor = 16, kGrowth = 0.1;
constexpr int64_t kOriginalContext = 16384;

// From transformers' CwmConfig.
constexpr DecoderDefaults kCwm = {.vocabulary = 128256,
                                  .hidden = 6144,
                                  .layers = 64,
                                  .heads = 48,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .context = 131072,
                                  .intermediate = 21504,
                                  .norm_epsilon = 1e-5,
                                  .theta = 1e6};
constexpr int64_t kCwmWindow = 8192, kCwmPattern = 4;

struct Config : DecoderConfig {
  QueryGrowth growth;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  g.origin("model");
  const Variable factors = query_factors(g, c.growth);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    AttentionConfig attention_config = attention_of(c, layer);
    attention_config.query_factors = factors;
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_config);
        },
        [&](const Variable& y) {
          return gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c));
        });
  }
  return x;
}

DecoderModel model_of(const char* architecture, const Config& c) {
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

// Without fields of the rotation, those of the class.
void read_rotation(const JsonObjectReader& json, Config& c) {
  const auto fields = rope_fields(json);
  if (!fields) {
    c.rope = {.theta = kTheta,
              .scaling = RopeConfig::Scaling::kYarn,
              .factor = kFactor,
              .original_context = kOriginalContext};
    c.growth = {.strength = kGrowth, .step = kOriginalContext};
    return;
  }
  const char* step = "original_max_position_embeddings";
  c.growth = {.strength = unwrap(fields->required_float("llama_4_scaling_beta", 0, 1e6)),
              .step = static_cast<double>(unwrap(fields->required_int(step, 1, kMaxContext)))};
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.window = read_window(json, c, kWindow);
  return model_of("mistral", c);
}

DecoderModel read_ministral(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t) { return true; });
  return model_of("ministral", c);
}

DecoderModel read_ministral3(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  DecoderDefaults defaults = kMinistral3;
  // Null, unlike no field, means the hidden size divided among the heads.
  if (const Json* head_dim = json.json().find("head_dim"); head_dim && head_dim->is_null()) {
    defaults.head_dim = 0;
  }
  read_decoder(json, defaults, c, notes);
  read_rotation(json, c);
  c.window = read_window(json, c, 0);
  return model_of("ministral3", c);
}

DecoderModel read_cwm(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kCwm, c, notes);
  if (!rope_fields(json)) {
    c.rope = {.theta = kCwm.theta,
              .scaling = RopeConfig::Scaling::kLlama3,
              .factor = 16,
              .original_context = 8192};
  }
  c.window = read_window(json, c, kCwmWindow);
  c.windowed = read_windowed(json, c, [](int64_t layer) { return layer % kCwmPattern != 0; });
  refuse_set(json, "mlp_bias", "is true: biases of the feed-forward parts are not supported");
  return model_of("cwm", c);
}

}  // namespace tapml::models::mistral
