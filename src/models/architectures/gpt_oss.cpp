// gpt-oss: attention with sinks, of which every second layer sees a window, and experts with a
// clamped SwiGLU (OpenAI 2025; the layout and names of transformers' GptOssForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"

namespace tapml::models::gpt_oss {

using relax::Variable;

namespace {

// From transformers' GptOssConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 201088,
                                       .hidden = 2880,
                                       .layers = 36,
                                       .heads = 64,
                                       .kv_heads = 8,
                                       .head_dim = 64,
                                       .context = 131072,
                                       .intermediate = 2880,
                                       .norm_epsilon = 1e-5,
                                       .theta = 150000};
constexpr int64_t kExperts = 128, kExpertsPerToken = 4, kWindow = 128;

struct Config : DecoderConfig {
  ExpertConfig experts;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          AttentionConfig config = attention_of(c, layer);
          config.sinks = true;
          return attention(g, layer, path + ".self_attn", y, config);
        },
        [&](const Variable& y) { return g.narrowed(experts(g, path + ".mlp", y, c.experts)); });
  }
  return x;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  if (!json.has("rope_parameters") && !json.has("rope_scaling")) {
    c.rope = {.theta = c.rope.theta,
              .scaling = RopeConfig::Scaling::kYarn,
              .factor = 32,
              .truncate = false,
              .scale = yarn_scale(32, 1),
              .original_context = 4096};
  }
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", true));
  c.window = read_window(json, c, kWindow);
  c.windowed = read_windowed(json, c, [](int64_t layer) { return layer % 2 == 0; });
  ExpertConfig& experts = c.experts;
  experts.experts = read_experts(json, "num_local_experts", kExperts, 1, c, notes);
  experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, experts.experts), 1,
                     experts.experts, notes);
  experts.inner = c.intermediate;
  experts.router = {
      .scores = RouterConfig::Scores::kSoftmaxOfChosen, .path = "router", .bias = true};
  experts.stacked = {.transposed = true, .interleaved = true, .bias = true};
  experts.clamped = {.alpha = unwrap(json.float_or("swiglu_alpha", 1.702, 1e-6, 1e6)),
                     .limit = unwrap(json.float_or("swiglu_limit", 7, 1e-6, 1e6))};
  DecoderModel model = decoder_model("gpt_oss", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::gpt_oss
