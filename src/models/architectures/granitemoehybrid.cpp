// Granite 4: state-space layers and a few attention layers, each with the feed-forward part that
// all tokens share, and the factors of Granite 3 (IBM 2025; the layout and names of Hugging Face's
// GraniteMoeHybridForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/granite.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"
#include "models/state_space_fields.h"

namespace tapml::models::granitemoehybrid {

using relax::Variable;

namespace {

// From transformers' GraniteMoeHybridConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 1024,
                                       .intermediate_key = "shared_intermediate_size"};
constexpr int64_t kExperts = 8, kExpertsPerToken = 2, kExpertInner = 11008;

struct Config : DecoderConfig {
  GraniteFactors factors;
  StateSpaceConfig mixer;
  std::vector<LayerKind> kinds;  // by layer
  bool rotates = false;
  ExpertConfig experts;  // beside the shared part; may have none
};

AttentionConfig attention_of_layers(const Config& c) {
  AttentionConfig config = attention_of(c);
  config.scale = c.factors.score;
  if (!c.rotates) config.rope = std::nullopt;
  return config;
}

Variable feed_forward_of_layer(Graph& g, const std::string& path, const Variable& x,
                               const Config& c) {
  FeedForwardConfig config = feed_forward_of(c);
  config.gate_up = "input_linear";
  config.down = "output_linear";
  Variable shared = fused_gated_feed_forward(g, path + ".shared_mlp", x, config);
  if (c.experts.experts == 0) return shared;
  const Variable routed = experts(g, path + ".block_sparse_moe", x, c.experts);
  g.origin(path);
  return g.narrowed(g.add(routed, shared));
}

Variable hidden_states(Graph& g, const Config& c) {
  return granite_hidden_states(
      g, c, c.factors,
      [&](int64_t layer, const std::string& path, const Variable& y) {
        return c.kinds[static_cast<size_t>(layer)] == LayerKind::kAttention
                   ? attention(g, layer, path + ".self_attn", y, attention_of_layers(c))
                   : state_space(g, layer, path + ".mamba", y, c.mixer);
      },
      [&](int64_t, const std::string& path, const Variable& y) {
        return feed_forward_of_layer(g, path, y, c);
      });
}

// Rotary positions are an option, which published configurations without it call "nope".
bool read_rotates(const JsonObjectReader& json) {
  constexpr std::string_view kKinds[] = {"nope", "rope"};
  const char* key = "position_embedding_type";
  return json.has(key) && unwrap(json.required_choice(key, kKinds)) == "rope";
}

ExpertConfig read_routed(const JsonObjectReader& json, const Config& c, ConfigNotes& notes) {
  ExpertConfig routed;
  routed.experts = read_experts(json, "num_local_experts", kExperts, 0, c, notes);
  if (routed.experts == 0) return routed;
  routed.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, routed.experts), 1,
                     routed.experts, notes);
  routed.inner = int_or_default(json, "intermediate_size", kExpertInner, 1, kMaxWidth, notes);
  routed.activation = c.activation;
  routed.router = {.scores = RouterConfig::Scores::kSoftmaxOfChosen, .path = "router.layer"};
  routed.stacked = {.gate_up = "input_linear.weight", .down = "output_linear.weight"};
  return routed;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.factors = read_granite_factors(json);
  c.kinds = read_layer_kinds(json, "M*", std::string(static_cast<size_t>(c.layers), 'M'), c.layers);
  c.rotates = read_rotates(json);
  c.mixer = read_state_space(json, {}, c, notes);
  c.mixer.activation = c.activation;
  c.mixer.norm_epsilon = c.norm_epsilon;
  c.experts = read_routed(json, c, notes);
  DecoderModel model = decoder_model("granitemoehybrid", c);
  if (std::ranges::count(c.kinds, LayerKind::kStateSpace) > 0)
    model.programs = state_space_program(c.mixer);
  model.logits = logits_of(c, norm_of(c), {.scale = 1 / c.factors.logit_divisor});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::granitemoehybrid
