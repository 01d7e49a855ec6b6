// MiniMax M2: norms of all of q and of all of k, rotary positions in a part of a head, and routed
// experts in every layer, which are chosen by corrected sigmoid scores (MiniMax 2025; the layout
// and names of Hugging Face's MiniMaxM2ForCausalLM and of the published files).
#include <algorithm>

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/experts.h"
#include "models/blocks/layer.h"

namespace tapml::models::minimax_m2 {

using relax::Variable;

namespace {

// From transformers' MiniMaxM2Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 200064,
                                       .hidden = 3072,
                                       .layers = 62,
                                       .heads = 48,
                                       .kv_heads = 8,
                                       .head_dim = 128,
                                       .context = 196608,
                                       .intermediate = 1536,
                                       .theta = 5e6,
                                       .partial_rotary = 1};
constexpr int64_t kExperts = 256;
constexpr int64_t kExpertsPerToken = 8;

struct Config : DecoderConfig {
  ExpertConfig experts;
};

Variable hidden_states(Graph& g, const Config& c) {
  AttentionConfig attention_config = attention_of(c);
  attention_config.qk_norm = QkNorm::kWhole;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_config);
        },
        [&](const Variable& y) {
          return g.narrowed(experts(g, path + ".block_sparse_moe", y, c.experts));
        });
  }
  return x;
}

// Published configurations give the rotated part of a head as a number of elements, which counts
// only where no factor is given.
void read_rotated(const JsonObjectReader& json, Config& c) {
  const char* key = "rotary_dim";
  const auto rotation = rope_fields(json);
  const char* factor = "partial_rotary_factor";
  if (!json.has(key) || json.has(factor) || (rotation && rotation->has(factor))) return;
  const int64_t rotated = unwrap(json.required_int(key, 2, c.head_dim));
  if (rotated % 2 != 0) throw_error(json.field_error(key, "has no halves", "an even number"));
  c.rope.rotated = rotated < c.head_dim ? rotated : 0;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  read_rotated(json, c);
  c.experts = {
      .experts = read_experts(json, "num_local_experts", kExperts, 1, c, notes),
      .inner = c.intermediate,
      .activation = c.activation,
      .router = {.scores = RouterConfig::Scores::kSigmoid,
                 .correction = "e_score_correction_bias",
                 .renormalize = true},
      .gate = "w1",
      .up = "w3",
      .down = "w2",
  };
  c.experts.per_token =
      int_or_default(json, "num_experts_per_tok", std::min(kExpertsPerToken, c.experts.experts), 1,
                     c.experts.experts, notes);
  DecoderModel model = decoder_model("minimax_m2", c);
  model.logits = logits_of(c, norm_of(c));
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::minimax_m2
