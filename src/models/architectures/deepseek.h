// What DeepSeek V2, V3 and architectures after them share: latent attention, and routed experts
// beside experts that every token passes (DeepSeek-AI 2024; the fields and names of transformers'
// DeepseekV2ForCausalLM and DeepseekV3ForCausalLM).
#pragma once

#include "models/blocks/latent_attention.h"
#include "models/blocks/shared_expert.h"
#include "models/config_fields.h"

namespace tapml::models {

struct LatentDefaults {
  int64_t query_rank = 1536, rank = 512, plain_width = 128, value_width = 128;
};

// The fields of latent attention; `config` has been read with "qk_rope_head_dim" as its head_dim.
LatentAttentionConfig read_latent_attention(const JsonObjectReader& json,
                                            const LatentDefaults& defaults,
                                            const DecoderConfig& config, ConfigNotes& notes);

struct DeepseekExperts {
  ExpertConfig routed;
  int64_t shared_inner = 0;  // width of the shared experts together; 0: there are none
  int64_t first = 0;         // the layers before have one dense part
};

struct DeepseekExpertDefaults {
  int64_t experts = 0;
  int64_t per_token = 0;  // 0: the field is required
  int64_t inner = 0;
  int64_t shared = 1;
  int64_t groups = 1, chosen_groups = 1;
  bool groups_by_pairs = true;  // RouterConfig's
  int64_t first = 0;
  double scale = 1;
  const char* first_key = "first_k_dense_replace";  // null: the caller reads it
};

// Reads the sizes, the groups and the scale; the kind of router is the caller's.
DeepseekExperts read_deepseek_experts(const JsonObjectReader& json,
                                      const DeepseekExpertDefaults& defaults,
                                      const DecoderConfig& config, ConfigNotes& notes);

// The feed-forward part of a layer at `path`, "<layer>.mlp".
relax::Variable deepseek_feed_forward(Graph& g, int64_t layer, const std::string& path,
                                      const relax::Variable& x, const DecoderConfig& config,
                                      const DeepseekExperts& experts);

struct DeepseekConfig : DecoderConfig {
  LatentAttentionConfig latent;
  DeepseekExperts experts;
};

// Layers of a norm and latent attention, then a norm and the feed-forward part.
DecoderModel deepseek_model(const char* architecture, const DeepseekConfig& config);

}  // namespace tapml::models
