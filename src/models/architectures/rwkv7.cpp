// RWKV 7, "Goose" (Peng et al. 2025; the package `rwkv`, and the class and names of
// flash-linear-attention's folders).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/norm.h"
#include "models/blocks/token_shift.h"
#include "models/blocks/wkv7.h"
#include "models/config_fields.h"

namespace tapml::models::rwkv7 {

using relax::Variable;

namespace {

// Far above every existing model, so that local buffers of the scan fit.
constexpr int64_t kMaxHeadSize = 1024;

struct Config {
  DecoderConfig decoder;
  NormConfig norm{.kind = NormConfig::Kind::kLayer, .bias = true};
  bool norm_first = true;  // of the embeddings
  Wkv7Config mix;
};

Variable channel_mix(Graph& g, const Config& c, const std::string& path, const Variable& x,
                     const Variable& before) {
  g.origin(path);
  const Variable share = g.stored_weight({path + ".x_k", {c.decoder.hidden}, {}});
  return feed_forward(g, path, interpolated(g, x, before, share),
                      {.inner = c.decoder.intermediate,
                       .activation = Activation::kSquaredRelu,
                       .up = "key",
                       .down = "value"});
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embeddings", c.decoder.vocabulary, c.decoder.hidden);
  if (c.norm_first) x = norm(g, "model.layers.0.pre_norm", x, c.norm);
  Variable first_v;
  for (int64_t layer = 0; layer < c.decoder.layers; ++layer) {
    const std::string number = std::to_string(layer), path = "model.layers." + number;
    const auto shifted = [&](const char* part, const std::string& own, const Variable& y) {
      g.origin(own);
      return previous_tokens(g, std::string(part) + "_token." + number, y);
    };
    const std::string attention = path + ".attn", feed_forward = path + ".ffn";
    Variable y = norm(g, path + ".attn_norm", x, c.norm);
    Variable before = shifted("attention", attention, y);
    x = residual(g, path, x, wkv7(g, layer, attention, y, before, first_v, c.mix));
    y = norm(g, path + ".ffn_norm", x, c.norm);
    before = shifted("feed_forward", feed_forward, y);
    x = residual(g, path, x, channel_mix(g, c, feed_forward, y, before));
  }
  return x;
}

// A rank that a configuration leaves out follows from the hidden size, as in the published class.
int64_t read_rank(const JsonObjectReader& json, const char* key, double factor, int64_t hidden) {
  const double wanted = factor * std::sqrt(static_cast<double>(hidden)) / 32;
  return unwrap(json.int_or(key, std::max<int64_t>(1, std::llrint(wanted)) * 32, 1, kMaxWidth));
}

void read_head(const JsonObjectReader& json, Config& c, ConfigNotes& notes) {
  const int64_t hidden = c.decoder.hidden;
  const bool by_number = !json.has("head_dim") && json.has("num_heads");
  c.mix.heads.size = by_number ? hidden / unwrap(json.required_int("num_heads", 1, hidden))
                               : int_or_default(json, "head_dim", 64, 1, kMaxHeadSize, notes);
  if (c.mix.heads.size > kMaxHeadSize || hidden % c.mix.heads.size != 0) {
    throw_error(json.field_error("hidden_size", "is not a multiple of the size of a head",
                                 "a multiple of " + std::to_string(c.mix.heads.size)));
  }
  c.mix.heads.heads = hidden / c.mix.heads.size;
  c.mix.heads.norm = "g_norm";
  c.mix.heads.norm_epsilon = static_cast<double>(c.mix.heads.size) * c.norm.epsilon;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  DecoderConfig& d = c.decoder;
  d.vocabulary = int_or_default(json, "vocab_size", 32000, 1, kMaxVocabulary, notes);
  d.hidden = int_or_default(json, "hidden_size", 2048, 1, kMaxWidth, notes);
  d.layers = int_or_default(json, "num_hidden_layers", 24, 1, kMaxLayers, notes);
  d.context = kRecurrentContext;
  d.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", false));
  const double ratio = unwrap(json.float_or("hidden_ratio", 4, 1e-3, 1e3));
  const auto widest = static_cast<int64_t>(ratio * static_cast<double>(d.hidden));
  d.intermediate = unwrap(json.int_or("intermediate_size", (widest + 31) / 32 * 32, 1, kMaxWidth));
  c.norm.epsilon = unwrap(json.float_or("norm_eps", 1e-5, 0, 1));
  c.norm.bias = unwrap(json.bool_or("norm_bias", true));
  c.norm_first = unwrap(json.bool_or("norm_first", true));
  read_head(json, c, notes);
  const double by_size = static_cast<double>(c.mix.heads.size) / 64;
  c.mix.decay_rank = read_rank(json, "decay_low_rank_dim", 2.5 * by_size, d.hidden);
  c.mix.rate_rank = read_rank(json, "a_low_rank_dim", 2.5 * by_size, d.hidden);
  c.mix.value_rank = read_rank(json, "v_low_rank_dim", 1.7 * by_size, d.hidden);
  c.mix.gate_rank = read_rank(json, "gate_low_rank_dim", 5, d.hidden);
  if (unwrap(json.string_or("hidden_act", "sqrelu")) != "sqrelu") {
    throw_error(json.field_error("hidden_act", "is not supported", "\"sqrelu\""));
  }
  if (json.has("attn")) {
    throw_error(
        json.field_error("attn", "asks for layers of attention", "a field that is absent or null"));
  }
  if (json.has("value_dim")) {
    for (const int64_t width : unwrap(json.required_int_array("value_dim"))) {
      if (width == d.hidden) continue;
      throw_error(json.field_error("value_dim", "differs from \"hidden_size\"",
                                   std::to_string(d.hidden) + " for each layer"));
    }
  }
  DecoderModel model = decoder_model("rwkv7", d);
  model.embedding = "model.embeddings";
  model.last_norm = "model.norm";
  model.head = "lm_head";
  model.programs = wkv7_program(c.mix);
  model.logits = logits_of(d, c.norm, {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::rwkv7
