// The fields of a config.json that say the sizes of state-space layers (blocks/state_space.h).
#pragma once

#include "models/blocks/state_space.h"
#include "models/config_fields.h"

namespace tapml::models {

// What an architecture's configuration class says: defaults of absent fields, names of fields.
struct StateSpaceDefaults {
  int64_t heads = 128;
  int64_t head_dim = 0;  // 0: inner / heads, also where the field is "auto"
  int64_t groups = 1;
  int64_t state_size = 256;
  int64_t kernel = 4;
  int64_t expand = 2;  // inner is this times the hidden size
  const char* heads_key = "mamba_n_heads";
  const char* head_dim_key = "mamba_d_head";
  const char* groups_key = "mamba_n_groups";
  const char* state_size_key = "mamba_d_state";
  const char* kernel_key = "mamba_d_conv";
  const char* expand_key = "mamba_expand";
  const char* convolution_bias_key = "mamba_conv_bias";  // null: it has a bias
  const char* bias_key = "mamba_proj_bias";              // of both projections
  const char* steps_key = "time_step_limit";             // null: no limits
};

// The elements of all heads together: `expand` times the hidden size. UserError if the product of
// heads and head_dim is another number.
StateSpaceConfig read_state_space(const JsonObjectReader& json, const StateSpaceDefaults& defaults,
                                  const DecoderConfig& config, ConfigNotes& notes);
// The same for `inner` elements, whichever field says so; 0: as many as the heads have.
StateSpaceConfig read_state_space(const JsonObjectReader& json, const StateSpaceDefaults& defaults,
                                  int64_t inner, ConfigNotes& notes);

// What a layer of a hybrid model has, by its letter in Nemotron-H's patterns.
enum class LayerKind : char {
  kStateSpace = 'M',
  kAttention = '*',
  kFeedForward = '-',
  kExperts = 'E',
  kHybrid = 'H',  // a state space that also gets what attention makes (Zamba 2)
};

// The kinds of all layers, by the field that has them: names in the list "layer_types" or
// "layers_block_type" ("linear_attention", "full_attention", "mlp", "moe", "hybrid", or "mamba" and
// "attention" of older configurations), or letters in "hybrid_override_pattern"; without such a
// field, those of `fallback`. UserError for kinds whose letters are not in `known`, and for another
// number of layers than `count`, if that is not 0.
std::vector<LayerKind> read_layer_kinds(const JsonObjectReader& json, std::string_view known,
                                        std::string_view fallback, int64_t count = 0);

}  // namespace tapml::models
