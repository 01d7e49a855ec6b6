#include "models/architectures/deepseek.h"

#include <cmath>

#include "ir/exceptions.h"
#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

LatentAttentionConfig read_latent_attention(const JsonObjectReader& json,
                                            const LatentDefaults& defaults,
                                            const DecoderConfig& config, ConfigNotes& notes) {
  if (config.kv_heads != config.heads) {
    throw_error(json.field_error("num_key_value_heads",
                                 "is not \"num_attention_heads\": latent attention makes keys and "
                                 "values for every head",
                                 std::to_string(config.heads)));
  }
  LatentAttentionConfig latent;
  latent.heads = config.heads;
  const auto size = [&](const char* key, int64_t fallback) {
    return int_or_default(json, key, fallback, 1, kMaxWidth, notes);
  };
  const Json* rank = json.json().find("q_lora_rank");
  latent.query_rank = rank && rank->is_null() ? 0 : size("q_lora_rank", defaults.query_rank);
  latent.rank = size("kv_lora_rank", defaults.rank);
  latent.plain_width = size("qk_nope_head_dim", defaults.plain_width);
  latent.turned_width = config.head_dim;
  latent.value_width = json.has("v_head_dim") || defaults.value_width > 0
                           ? size("v_head_dim", defaults.value_width)
                           : config.hidden / config.heads;
  const auto width = static_cast<double>(latent.plain_width + latent.turned_width);
  latent.scale = config.rope.score_scale / std::sqrt(width);
  latent.rope = make_rope(config.rope, config.head_dim);
  // Not "rms_norm_eps": the class's own epsilon.
  latent.norm = {.epsilon = 1e-6};
  latent.bias = unwrap(json.bool_or("attention_bias", false));
  return latent;
}

DeepseekExperts read_deepseek_experts(const JsonObjectReader& json,
                                      const DeepseekExpertDefaults& defaults,
                                      const DecoderConfig& config, ConfigNotes& notes) {
  DeepseekExperts result;
  ExpertConfig& routed = result.routed;
  const auto size = [&](const char* key, int64_t fallback, int64_t min, int64_t max) {
    return int_or_default(json, key, fallback, min, max, notes);
  };
  const int64_t experts =
      read_experts(json, "n_routed_experts", defaults.experts, 1, config, notes);
  routed.experts = experts;
  routed.per_token =
      defaults.per_token == 0 && !json.has("num_experts_per_tok")
          ? unwrap(json.required_int("num_experts_per_tok", 1, experts))
          : size("num_experts_per_tok", std::min(defaults.per_token, experts), 1, experts);
  routed.inner = size("moe_intermediate_size", defaults.inner, 1, kMaxWidth);
  routed.activation = config.activation;
  RouterConfig& router = routed.router;
  router.groups = unwrap(json.int_or("n_group", defaults.groups, 1, experts));
  router.chosen_groups = unwrap(
      json.int_or("topk_group", std::min(defaults.chosen_groups, router.groups), 1, router.groups));
  if (experts % router.groups != 0) {
    throw_error(json.field_error("n_group", "does not divide \"n_routed_experts\"",
                                 "a divisor of " + std::to_string(experts)));
  }
  router.groups_by_pairs = defaults.groups_by_pairs;
  if (router.groups_by_pairs && router.groups > 1 && experts / router.groups < 2) {
    throw_error(json.field_error("n_group", "leaves one expert in a group, of which two are added",
                                 "at most " + std::to_string(experts / 2)));
  }
  const int64_t candidates = experts / router.groups * router.chosen_groups;
  if (routed.per_token > candidates) {
    throw_error(json.field_error("topk_group", "leaves fewer experts than \"num_experts_per_tok\"",
                                 "groups with " + std::to_string(routed.per_token) +
                                     " experts together, not " + std::to_string(candidates)));
  }
  router.scale = unwrap(json.float_or("routed_scaling_factor", defaults.scale, 1e-9, 1e9));
  const int64_t shared = unwrap(
      json.int_or("n_shared_experts", json.json().find("n_shared_experts") ? 0 : defaults.shared, 0,
                  kMaxWidth / routed.inner));
  result.shared_inner = shared * routed.inner;
  result.first = defaults.first;
  if (defaults.first_key) {
    result.first = unwrap(json.int_or(defaults.first_key, defaults.first, 0, kMaxLayers));
  }
  if (unwrap(json.int_or("moe_layer_freq", 1)) != 1) {
    throw_error(json.field_error("moe_layer_freq", "is not 1", "experts in every layer"));
  }
  return result;
}

Variable deepseek_feed_forward(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                               const DecoderConfig& config, const DeepseekExperts& c) {
  if (layer < c.first) return gated_feed_forward(g, path, x, feed_forward_of(config));
  return experts_with_shared(g, path, x, c.routed,
                             {.inner = c.shared_inner, .name = "shared_experts"});
}

DecoderModel deepseek_model(const char* architecture, const DeepseekConfig& c) {
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) {
    Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
    for (int64_t layer = 0; layer < c.layers; ++layer) {
      const std::string path = layer_path(layer);
      x = pre_norm_layer(
          g, path, x, norm_of(c),
          [&](const Variable& y) {
            return latent_attention(g, layer, path + ".self_attn", y, c.latent);
          },
          [&](const Variable& y) {
            return deepseek_feed_forward(g, layer, path + ".mlp", y, c, c.experts);
          });
    }
    return x;
  };
  return model;
}

}  // namespace tapml::models
