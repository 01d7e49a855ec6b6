// Falcon-H1: attention and a state space beside each other in every layer, and factors of nearly
// all that a layer computes (TII 2025; the layout and names of Hugging Face's FalconH1ForCausalLM).
#include <cmath>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"
#include "models/state_space_fields.h"

namespace tapml::models::falcon_h1 {

using relax::Variable;

namespace {

// From transformers' FalconH1Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 128000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 8,
                                       .context = 8192,
                                       .intermediate = 14336,
                                       .norm_epsilon = 1e-5};
constexpr int64_t kInner = 1024;  // of the state space

struct Config : DecoderConfig {
  StateSpaceConfig mixer;
  bool mlp_bias = false;
  // Factors of what they are named after, of inputs (in) and outputs (out) of the parts.
  double embedding = 1, logits = 1, keys = 1;
  double attention_in = 1, attention_out = 1, mixer_in = 1, mixer_out = 1;
  double mlp_gate = 1, mlp_down = 1;
};

AttentionConfig attention_of_layers(const Config& c) {
  AttentionConfig config = attention_of(c);
  // A factor of the keys is one of the scores.
  config.scale = c.keys / std::sqrt(static_cast<double>(c.head_dim));
  return config;
}

FeedForwardConfig mlp_of(const Config& c) {
  FeedForwardConfig config = feed_forward_of(c);
  config.bias = c.mlp_bias;
  config.gate_factor = c.mlp_gate;
  return config;
}

// A part between two factors, which belong to the layer.
Variable between(Graph& g, const std::string& path, const Variable& x, double before, double after,
                 const Part& part) {
  g.origin(path);
  const Variable y = part(g.scaled(x, before));
  g.origin(path);
  return g.scaled(y, after);
}

Variable mixed(Graph& g, int64_t layer, const std::string& path, const Variable& x,
               const Config& c) {
  const Variable scanned = between(g, path, x, c.mixer_in, c.mixer_out, [&](const Variable& y) {
    return state_space(g, layer, path + ".mamba", y, c.mixer);
  });
  const Variable attended =
      between(g, path, x, c.attention_in, c.attention_out, [&](const Variable& y) {
        return attention(g, layer, path + ".self_attn", y, attention_of_layers(c));
      });
  return residual(g, path, scanned, attended);
}

Variable hidden_states(Graph& g, const Config& c) {
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  g.origin("model");
  x = g.scaled(x, c.embedding);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c), [&](const Variable& y) { return mixed(g, layer, path, y, c); },
        [&](const Variable& y) {
          return between(g, path, y, 1, c.mlp_down, [&](const Variable& input) {
            return gated_feed_forward(g, path + ".feed_forward", input, mlp_of(c));
          });
        },
        {.before_feed = "pre_ff_layernorm"});
  }
  return x;
}

double read_factor(const JsonObjectReader& json, const char* key) {
  const double factor = unwrap(json.float_or(key, 1, -1e9, 1e9));
  if (factor != 0) return factor;
  throw_error(json.field_error(key, "is 0: what it multiplies is lost", "another number"));
}

// A list of factors; all are 1 where the field is absent.
std::vector<double> read_factors(const JsonObjectReader& json, const char* key, size_t count) {
  if (!json.has(key)) return std::vector<double>(count, 1);
  std::vector<double> factors;
  for (const Json& item : *unwrap(json.required_array(key))) {
    const bool is_factor = item.is_number() && std::abs(item.as_double()) <= 1e9;
    if (!is_factor) {
      throw_error(json.item_error(item, key + ("[" + std::to_string(factors.size())) + "]",
                                  "is not a factor", "a number from -1e9 to 1e9"));
    }
    factors.push_back(item.as_double());
  }
  if (factors.size() == count) return factors;
  throw_error(json.field_error(key, "has the wrong number of factors", std::to_string(count)));
}

StateSpaceConfig read_mixer(const JsonObjectReader& json, const Config& c, ConfigNotes& notes) {
  const Json* inner = json.json().find("mamba_d_ssm");
  StateSpaceConfig mixer =
      inner && inner->is_null()
          ? read_state_space(json, {}, c, notes)
          : read_state_space(
                json, {}, int_or_default(json, "mamba_d_ssm", kInner, 1, kMaxWidth, notes), notes);
  mixer.activation = c.activation;
  mixer.norm_epsilon = c.norm_epsilon;
  mixer.out_bias = unwrap(json.bool_or("projectors_bias", false));
  const bool norm_first = unwrap(json.bool_or("mamba_norm_before_gate", true));
  mixer.norm = !unwrap(json.bool_or("mamba_rms_norm", false)) ? GatedNorm::kGateAlone
               : norm_first                                   ? GatedNorm::kNormFirst
                                                              : GatedNorm::kGateFirst;
  const std::vector<double> factors = read_factors(json, "ssm_multipliers", mixer.factors.size());
  std::ranges::copy(factors, mixer.factors.begin());
  return mixer;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  c.mixer = read_mixer(json, c, notes);
  c.embedding = read_factor(json, "embedding_multiplier");
  c.logits = read_factor(json, "lm_head_multiplier");
  c.keys = read_factor(json, "key_multiplier");
  c.attention_in = read_factor(json, "attention_in_multiplier");
  c.attention_out = read_factor(json, "attention_out_multiplier");
  c.mixer_in = read_factor(json, "ssm_in_multiplier");
  c.mixer_out = read_factor(json, "ssm_out_multiplier");
  const std::vector<double> mlp = read_factors(json, "mlp_multipliers", 2);
  c.mlp_gate = mlp[0];
  c.mlp_down = mlp[1];
  DecoderModel model = decoder_model("falcon_h1", c);
  model.last_norm = "model.final_layernorm";
  model.programs = state_space_program(c.mixer);
  model.logits = logits_of(c, norm_of(c), {.scale = c.logits}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::falcon_h1
