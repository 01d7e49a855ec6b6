// Granite 3 with routed experts in every layer, and in one of its forms with a feed-forward part
// beside them that all tokens share (IBM 2024; the layout and names of Hugging Face's
// GraniteMoeForCausalLM and GraniteMoeSharedForCausalLM).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/granite.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"

namespace tapml::models::granitemoe {

using relax::Variable;

namespace {

// From transformers' GraniteMoeConfig and GraniteMoeSharedConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 32000,
                                       .hidden = 4096,
                                       .layers = 32,
                                       .heads = 32,
                                       .kv_heads = 0,
                                       .context = 2048,
                                       .intermediate = 11008};
constexpr int64_t kExperts = 8;
constexpr int64_t kExpertsPerToken = 2;

struct Config : DecoderConfig {
  GraniteFactors factors;
  ExpertConfig experts;
  int64_t shared = 0;  // width of the part that all tokens share; 0: there is none
};

Variable feed_forward(Graph& g, const std::string& path, const Variable& x, const Config& c) {
  const Variable routed = experts(g, path + ".block_sparse_moe", x, c.experts);
  if (c.shared == 0) return g.narrowed(routed);
  FeedForwardConfig config = feed_forward_of(c);
  config.inner = c.shared;
  config.gate_up = "input_linear";
  config.down = "output_linear";
  const Variable shared = fused_gated_feed_forward(g, path + ".shared_mlp", x, config);
  g.origin(path);
  return g.narrowed(g.add(routed, shared));
}

Variable hidden_states(Graph& g, const Config& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.scale = c.factors.score;
  return granite_hidden_states(
      g, c, c.factors,
      [&](int64_t layer, const std::string& path, const Variable& y) {
        return attention(g, layer, path + ".self_attn", y, attention_config);
      },
      [&](int64_t, const std::string& path, const Variable& y) {
        return feed_forward(g, path, y, c);
      });
}

DecoderModel read_model(const char* architecture, const JsonObjectReader& json, bool has_shared,
                        ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("attention_bias", false));
  c.factors = read_granite_factors(json);
  if (has_shared) c.shared = unwrap(json.int_or("shared_intermediate_size", 0, 0, kMaxWidth));
  c.experts = {
      .experts = read_experts(json, "num_local_experts", kExperts, 1, c, notes),
      .inner = c.intermediate,
      .activation = c.activation,
      .router = {.scores = RouterConfig::Scores::kSoftmaxOfChosen, .path = "router.layer"},
      .stacked = StackedExperts{.gate_up = "input_linear.weight", .down = "output_linear.weight"},
  };
  c.experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, c.experts.experts), 1,
                     c.experts.experts, notes);
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c), {.scale = 1 / c.factors.logit_divisor});
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  return read_model("granitemoe", json, false, notes);
}

DecoderModel read_shared(const JsonObjectReader& json, ConfigNotes& notes) {
  return read_model("granitemoeshared", json, true, notes);
}

}  // namespace tapml::models::granitemoe
