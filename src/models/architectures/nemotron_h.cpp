// Nemotron-H: layers of one part each, a state space, attention without positions, a feed-forward
// part with squared ReLU or experts of such, in an order of the configuration (NVIDIA 2025; the
// layout and names of Hugging Face's NemotronHForCausalLM).
#include <algorithm>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"
#include "models/blocks/layer.h"
#include "models/state_space_fields.h"

namespace tapml::models::nemotron_h {

using relax::Variable;

namespace {

// From transformers' NemotronHConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 131072,
                                       .hidden = 4096,
                                       .layers = 4,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .head_dim = 128,
                                       .context = 4096,
                                       .intermediate = 21504,
                                       .norm_epsilon_key = "layer_norm_epsilon",
                                       .norm_epsilon = 1e-5,
                                       .activation_key = "mlp_hidden_act",
                                       .activation = "relu2"};
constexpr StateSpaceDefaults kMixerDefaults = {.heads = 128,
                                               .head_dim = 64,
                                               .groups = 8,
                                               .state_size = 128,
                                               .heads_key = "mamba_num_heads",
                                               .head_dim_key = "mamba_head_dim",
                                               .groups_key = "n_groups",
                                               .state_size_key = "ssm_state_size",
                                               .kernel_key = "conv_kernel",
                                               .convolution_bias_key = "use_conv_bias",
                                               .bias_key = "use_bias",
                                               .steps_key = nullptr};
constexpr double kLeastStep = 1e-3;
constexpr DeepseekExpertDefaults kExpertDefaults = {.experts = 8, .per_token = 2, .inner = 7688};
constexpr int64_t kSharedInner = 7688;

struct Config : DecoderConfig {
  std::vector<LayerKind> kinds;  // by layer
  StateSpaceConfig mixer;
  bool mlp_bias = false;
  ExpertConfig experts;
  int64_t shared_inner = 0;  // of the expert that every token passes
};

FeedForwardConfig mlp_of(const Config& c, int64_t inner) {
  return {.inner = inner, .activation = c.activation, .bias = c.mlp_bias};
}

Variable part_of_layer(Graph& g, const Config& c, int64_t layer, const std::string& path,
                       const Variable& x) {
  switch (c.kinds[static_cast<size_t>(layer)]) {
    case LayerKind::kStateSpace:
      return state_space(g, layer, path, x, c.mixer);
    case LayerKind::kAttention: {
      AttentionConfig config = attention_of(c);
      config.rope = std::nullopt;
      return attention(g, layer, path, x, config);
    }
    case LayerKind::kFeedForward:
      return feed_forward(g, path, x, mlp_of(c, c.intermediate));
    case LayerKind::kExperts:
    case LayerKind::kHybrid:  // refused
      break;
  }
  const Variable routed = experts(g, path, x, c.experts);
  const Variable shared = feed_forward(g, path + ".shared_experts", x, mlp_of(c, c.shared_inner));
  g.origin(path);
  return g.narrowed(g.add(routed, shared));
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embeddings", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const Variable y = norm(g, path + ".norm", x, norm_of(c));
    x = residual(g, path, x, part_of_layer(g, c, layer, path + ".mixer", y));
  }
  return x;
}

// Older configurations have another name, which takes precedence.
const char* key_of(const JsonObjectReader& json, const char* older, const char* key) {
  return json.has(older) ? older : key;
}

StateSpaceConfig read_mixer(const JsonObjectReader& json, const Config& c, ConfigNotes& notes) {
  StateSpaceDefaults defaults = kMixerDefaults;
  defaults.groups_key = key_of(json, "mamba_n_groups", defaults.groups_key);
  defaults.kernel_key = key_of(json, "mamba_d_conv", defaults.kernel_key);
  defaults.convolution_bias_key = key_of(json, "mamba_conv_bias", defaults.convolution_bias_key);
  StateSpaceConfig mixer = read_state_space(json, defaults, 0, notes);
  const char* least = key_of(json, "mamba_dt_min", "time_step_min");
  mixer.least_step = unwrap(json.float_or(least, kLeastStep, 0, 1e9));
  mixer.activation = activation_or(json, "mamba_hidden_act", "silu");
  mixer.norm_epsilon = c.norm_epsilon;
  return mixer;
}

void read_experts_of_layers(const JsonObjectReader& json, Config& c, ConfigNotes& notes) {
  if (std::ranges::count(c.kinds, LayerKind::kExperts) == 0) return;
  c.experts = read_deepseek_experts(json, kExpertDefaults, c, notes).routed;
  c.experts.plain = true;
  c.experts.router.scores = RouterConfig::Scores::kSigmoid;
  c.experts.router.correction = "gate.e_score_correction_bias";
  c.experts.router.renormalize = unwrap(json.bool_or("norm_topk_prob", true));
  c.shared_inner = int_or_default(json, "moe_shared_expert_intermediate_size", kSharedInner, 1,
                                  kMaxWidth, notes);
  if (!json.has("moe_latent_size")) return;
  throw_error(json.field_error("moe_latent_size",
                               "is present: experts of a width of their own are not supported",
                               "no such field"));
}

// Fields of the configuration class that its model does not read.
void warn_of_unread(const JsonObjectReader& json, ConfigNotes& notes) {
  const auto warn = [&](const char* key) {
    notes.warnings.push_back(json.source() + ": " + in_quotes(key) +
                             " is ignored, as in transformers");
  };
  for (const char* key : {"attention_bias", "mamba_proj_bias"}) {
    if (unwrap(json.bool_or(key, false))) warn(key);
  }
  if (json.has("sliding_window")) warn("sliding_window");
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.kinds = read_layer_kinds(json, "M*-E", "ME*-");
  if (json.has("num_hidden_layers") && c.layers != std::ssize(c.kinds)) {
    notes.warnings.push_back(json.source() +
                             ": \"num_hidden_layers\" is not the number of layers in the list of "
                             "their kinds, which is used, as in transformers");
  }
  c.layers = std::ssize(c.kinds);
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  c.mixer = read_mixer(json, c, notes);
  read_experts_of_layers(json, c, notes);
  refuse_set(json, "tie_word_embeddings", "is true: the published class has a head of its own");
  // Sums of layers have the dtype of activations, f32 or what the user asks for.
  unwrap(json.bool_or("residual_in_fp32", false));
  warn_of_unread(json, notes);
  DecoderModel model = decoder_model("nemotron_h", c);
  model.embedding = "model.embeddings";
  model.last_norm = "model.norm_f";
  if (std::ranges::count(c.kinds, LayerKind::kStateSpace) > 0) {
    model.programs = state_space_program(c.mixer);
  }
  model.logits = logits_of(c, norm_of(c), {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::nemotron_h
