// What RWKV 5 and 6 share: the configuration, and the layers around their time mixing (Peng et al.
// 2024; the layout and names of the model folders of Hugging Face's RWKV organization).
#pragma once

#include "models/blocks/wkv.h"
#include "models/config_fields.h"

namespace tapml::models {

struct RwkvConfig {
  int64_t vocabulary = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
  int64_t context = 0;
  int64_t intermediate = 0;
  double norm_epsilon = 1e-5;
  bool tied_embeddings = false;
  WkvConfig wkv;
};

// UserError for everything that RwkvConfig cannot express.
RwkvConfig read_rwkv_config(const JsonObjectReader& json, ConfigNotes& notes);

// The parts of a layer that differ. `path` is the part's, x its normed input and `before` the
// tokens before, [b, n, hidden].
struct RwkvParts {
  using Part = relax::Variable (*)(Graph& g, const RwkvConfig& config, int64_t layer,
                                   const std::string& path, const relax::Variable& x,
                                   const relax::Variable& before);
  Part time_mix, channel_mix;
  const char* scan;  // the text of WkvConfig::program, for wkv_program
};
DecoderModel rwkv_model(const char* architecture, const RwkvConfig& config, RwkvParts parts);

// A weight [1, 1, width] of time mixing, which broadcasts over tokens.
relax::Variable time_weight(Graph& g, const std::string& name, int64_t width);

}  // namespace tapml::models
