// MiniCPM 1B and 2B: Llama with factors of embeddings, of what a layer adds, and of logits, which
// follow from the width and the depth (Hu et al. 2024; the layout and names of the published
// folders' MiniCPMForCausalLM). MiniCPM 3 has the same factors and latent attention (the layout and
// names of transformers' MiniCPM3ForCausalLM).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"
#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

namespace {

// From MiniCPM-2B's config.json and its configuration class.
constexpr DecoderDefaults kDefaults = {.vocabulary = 122753,
                                       .hidden = 2304,
                                       .layers = 40,
                                       .heads = 36,
                                       .kv_heads = 0,
                                       .context = 4096,
                                       .intermediate = 5760,
                                       .norm_epsilon = 1e-5,
                                       .tied_embeddings = true,
                                       .scalings = RopeScalings::kLinearAndDynamic};

// From transformers' MiniCPM3Config, like the factors there.
constexpr DecoderDefaults kDefaults3 = {.vocabulary = 73448,
                                        .hidden = 2560,
                                        .layers = 62,
                                        .heads = 40,
                                        .kv_heads = 0,
                                        .head_dim = 32,
                                        .context = 32768,
                                        .intermediate = 6400,
                                        .head_dim_key = "qk_rope_head_dim",
                                        .norm_epsilon = 1e-5,
                                        .tied_embeddings = true,
                                        .original_context = 32768};
constexpr LatentDefaults kLatent = {
    .query_rank = 768, .rank = 256, .plain_width = 64, .value_width = 0};

struct Config : DecoderConfig {
  double embedding_factor = 1, residual_factor = 1, logit_factor = 1;
  std::optional<LatentAttentionConfig> latent;
};

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  g.origin("model");
  x = g.scaled(x, c.embedding_factor);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    const auto as_residual = [&](const Variable& y) {
      g.origin(path);
      return g.scaled(y, c.residual_factor);
    };
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          const std::string attention_path = path + ".self_attn";
          return as_residual(c.latent ? latent_attention(g, layer, attention_path, y, *c.latent)
                                      : attention(g, layer, attention_path, y, attention_of(c)));
        },
        [&](const Variable& y) {
          return as_residual(gated_feed_forward(g, path + ".mlp", y, feed_forward_of(c)));
        });
  }
  return x;
}

void refuse_other_forms(const JsonObjectReader& json) {
  if (json.has("num_experts")) {
    throw_error(json.field_error("num_experts", "is present: MiniCPM-MoE is not supported",
                                 "no such field"));
  }
  if (json.has("sparse_config")) {
    throw_error(json.field_error("sparse_config", "is present: sparse attention is not supported",
                                 "no such field"));
  }
}

struct FactorDefaults {
  double embedding, depth, base_width;
};

// Null turns a factor off.
void read_factors(const JsonObjectReader& json, const FactorDefaults& defaults, Config& c) {
  const auto factor = [&](const char* key, double fallback, double off) {
    const Json* value = json.json().find(key);
    return value && value->is_null() ? off : unwrap(json.float_or(key, fallback, 1e-9, 1e9));
  };
  const double depth = std::sqrt(static_cast<double>(c.layers));
  const auto width = static_cast<double>(c.hidden);
  c.embedding_factor = factor("scale_emb", defaults.embedding, 1);
  c.residual_factor = factor("scale_depth", defaults.depth, depth) / depth;
  c.logit_factor = factor("dim_model_base", defaults.base_width, width) / width;
}

DecoderModel minicpm_model(const char* architecture, const Config& c) {
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c), {.scale = c.logit_factor});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace

namespace minicpm {

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  refuse_other_forms(json);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  // The defaults are the class's, not MiniCPM-2B's.
  read_factors(json, {.embedding = 1, .depth = 1, .base_width = 1}, c);
  return minicpm_model("minicpm", c);
}

}  // namespace minicpm

namespace minicpm3 {

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults3, c, notes);
  c.latent = read_latent_attention(json, kLatent, c, notes);
  refuse_set(json, "mlp_bias", "is true: biases of the feed-forward parts are not supported");
  read_factors(json, {.embedding = 12, .depth = 1.4, .base_width = 256}, c);
  return minicpm_model("minicpm3", c);
}

}  // namespace minicpm3

}  // namespace tapml::models
