// The configuration of Gemma 4.
#pragma once

#include "models/blocks/experts.h"
#include "models/config_fields.h"

namespace tapml::models::gemma4 {

struct Config : DecoderConfig {  // head_dim, kv_heads: of the layers with a window; `rope` is not
  RopeConfig local_rope;
  int64_t global_head_dim = 0, global_kv_heads = 0;
  bool keys_are_values = false;       // in the layers without a window
  std::vector<int64_t> shared_layer;  // AttentionConfig::shared_layer of each layer
  bool wide_where_shared = false;     // feed-forward parts of twice the width
  double logit_cap = 0;               // 0: none
  PerLayerConfig per_layer;
  std::optional<ExpertConfig> experts;  // beside the dense part of each layer
};

Config read_config(const JsonObjectReader& json, ConfigNotes& notes);

}  // namespace tapml::models::gemma4
