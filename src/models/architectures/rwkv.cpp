#include "models/architectures/rwkv.h"

#include "ir/exceptions.h"
#include "models/blocks/token_shift.h"

namespace tapml::models {

using relax::Variable;

namespace {

// Far above every existing model, so that local buffers of the scan fit.
constexpr int64_t kMaxHeadSize = 1024;

Variable hidden_states(Graph& g, const RwkvConfig& c, const RwkvParts& parts) {
  const NormConfig config = {
      .kind = NormConfig::Kind::kLayer, .epsilon = c.norm_epsilon, .bias = true};
  Variable x = embed_tokens(g, "rwkv.embeddings", c.vocabulary, c.hidden);
  x = norm(g, "rwkv.blocks.0.pre_ln", x, config);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string number = std::to_string(layer), path = "rwkv.blocks." + number;
    const auto add = [&](const char* norm_name, const char* name, const RwkvParts::Part& part) {
      const Variable y = norm(g, path + "." + norm_name, x, config);
      const std::string own = path + "." + name;
      g.origin(own);
      const Variable before = previous_tokens(g, std::string(name) + "_token." + number, y);
      x = residual(g, path, x, part(g, c, layer, own, y, before));
    };
    add("ln1", "attention", parts.time_mix);
    add("ln2", "feed_forward", parts.channel_mix);
  }
  return x;
}

}  // namespace

RwkvConfig read_rwkv_config(const JsonObjectReader& json, ConfigNotes& notes) {
  RwkvConfig c;
  c.vocabulary = int_or_default(json, "vocab_size", 65536, 1, kMaxVocabulary, notes);
  c.hidden = int_or_default(json, "hidden_size", 768, 1, kMaxWidth, notes);
  c.layers = int_or_default(json, "num_hidden_layers", 24, 1, kMaxLayers, notes);
  c.context = unwrap(json.int_or("context_length", kRecurrentContext, 1, kMaxContext));
  c.intermediate =
      unwrap(json.int_or("intermediate_size", c.hidden * 7 / 2 / 32 * 32, 1, kMaxWidth));
  c.norm_epsilon = unwrap(json.float_or("layer_norm_epsilon", 1e-5, 0, 1));
  c.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", false));
  // The halving of hidden states keeps f16 within its range and cancels in the norms.
  unwrap(json.int_or("rescale_every", 6));
  // Older configurations have the size of a head under the name of their number.
  const char* key = json.has("head_size") ? "head_size" : "num_attention_heads";
  c.wkv.size = int_or_default(json, key, 64, 1, kMaxHeadSize, notes);
  if (c.hidden % c.wkv.size != 0) {
    throw_error(json.field_error("hidden_size", "is not a multiple of the size of a head",
                                 "a multiple of " + std::to_string(c.wkv.size)));
  }
  c.wkv.heads = c.hidden / c.wkv.size;
  if (unwrap(json.int_or("attention_hidden_size", c.hidden, 1, kMaxWidth)) != c.hidden) {
    throw_error(json.field_error("attention_hidden_size", "differs from \"hidden_size\"",
                                 std::to_string(c.hidden)));
  }
  const double divisor = unwrap(json.float_or("head_size_divisor", 8, 1e-3, 1e3));
  c.wkv.norm_epsilon = 1e-5 * divisor * divisor;
  return c;
}

DecoderModel rwkv_model(const char* architecture, const RwkvConfig& c, RwkvParts parts) {
  DecoderConfig config;
  config.vocabulary = c.vocabulary;
  config.layers = c.layers;
  config.context = c.context;
  config.tied_embeddings = c.tied_embeddings;
  DecoderModel model = decoder_model(architecture, config);
  model.embedding = "rwkv.embeddings";
  model.last_norm = "rwkv.ln_out";
  model.head = "head";
  model.programs = wkv_program(parts.scan, c.wkv);
  const NormConfig last = {.kind = NormConfig::Kind::kLayer, .epsilon = 1e-5, .bias = true};
  model.logits = logits_of(config, last, {}, model);
  model.hidden_states = [c, parts](Graph& g) { return hidden_states(g, c, parts); };
  return model;
}

Variable time_weight(Graph& g, const std::string& name, int64_t width) {
  return g.stored_weight({name, {1, 1, width}, {}});
}

}  // namespace tapml::models
