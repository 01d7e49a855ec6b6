// MiniCPM 1B and 2B: Llama with factors of embeddings, of what a layer adds, and of logits, which
// follow from the width and the depth (Hu et al. 2024; the layout and names of the published
// folders' MiniCPMForCausalLM).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"

namespace tapml::models::minicpm {

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

struct Config : DecoderConfig {
  double embedding_factor = 1, residual_factor = 1, logit_factor = 1;
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
          return as_residual(attention(g, layer, path + ".self_attn", y, attention_of(c)));
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

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  refuse_other_forms(json);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  // The defaults are the class's, not MiniCPM-2B's. Null turns a factor off.
  const auto factor = [&](const char* key, double off) {
    const Json* value = json.json().find(key);
    return value && value->is_null() ? off : unwrap(json.float_or(key, 1, 1e-9, 1e9));
  };
  const double depth = std::sqrt(static_cast<double>(c.layers));
  const auto width = static_cast<double>(c.hidden);
  c.embedding_factor = factor("scale_emb", 1);
  c.residual_factor = factor("scale_depth", depth) / depth;
  c.logit_factor = factor("dim_model_base", width) / width;
  DecoderModel model = decoder_model("minicpm", c);
  model.logits = logits_of(c, norm_of(c), {.scale = c.logit_factor});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::minicpm
