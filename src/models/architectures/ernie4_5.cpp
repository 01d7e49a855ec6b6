// ERNIE 4.5: Llama with a rotation of neighbors, and optionally biases everywhere; with routed
// experts beside shared ones in some layers (Baidu 2025; the layout and names of Hugging Face's
// Ernie4_5ForCausalLM and Ernie4_5_MoeForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/layer.h"
#include "models/blocks/shared_expert.h"

namespace tapml::models::ernie4_5 {

using relax::Variable;

namespace {

// From transformers' Ernie4_5Config.
constexpr DecoderDefaults kDefaults = {.vocabulary = 103424,
                                       .hidden = 1024,
                                       .layers = 18,
                                       .heads = 16,
                                       .kv_heads = 2,
                                       .head_dim = 128,
                                       .context = 131072,
                                       .intermediate = 3072,
                                       .norm_epsilon = 1e-5,
                                       .theta = 500000,
                                       .tied_embeddings = true};

// From transformers' Ernie4_5_MoeConfig.
constexpr DecoderDefaults kMoeDefaults = {.vocabulary = 103424,
                                          .hidden = 2560,
                                          .layers = 28,
                                          .heads = 20,
                                          .kv_heads = 4,
                                          .context = 131072,
                                          .intermediate = 12288,
                                          .norm_epsilon = 1e-5,
                                          .theta = 500000,
                                          .tied_embeddings = true};
constexpr int64_t kExperts = 64, kExpertsPerToken = 6, kShared = 2, kExpertIntermediate = 1536;

struct Config : DecoderConfig {
  std::vector<bool> sparse;  // by layer; empty: none is
  ExpertConfig experts;
  SharedExpertConfig shared;
};

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig mlp = feed_forward_of(c);
  mlp.bias = c.qkv_bias;
  Variable x = embed_tokens(g, "model.embed_tokens", c.vocabulary, c.hidden);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    x = pre_norm_layer(
        g, path, x, norm_of(c),
        [&](const Variable& y) {
          return attention(g, layer, path + ".self_attn", y, attention_of(c));
        },
        [&](const Variable& y) {
          return !c.sparse.empty() && c.sparse[static_cast<size_t>(layer)]
                     ? experts_with_shared(g, path + ".mlp", y, c.experts, c.shared)
                     : gated_feed_forward(g, path + ".mlp", y, mlp);
        });
  }
  return x;
}

std::vector<bool> read_sparse(const JsonObjectReader& json, const Config& c) {
  const int64_t interval = unwrap(json.int_or("moe_layer_interval", 1, 1, kMaxLayers));
  const int64_t first = unwrap(json.int_or("moe_layer_start_index", 1, 0, kMaxLayers));
  int64_t last = unwrap(json.int_or("moe_layer_end_index", -1, -1, kMaxLayers));
  if (last == -1) last = c.layers - 1;
  std::vector<bool> sparse;
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    sparse.push_back((layer + 1) % interval == 0 && layer >= first && layer <= last);
  }
  return sparse;
}

Config read_common(const JsonObjectReader& json, const DecoderDefaults& defaults,
                   ConfigNotes& notes) {
  Config c;
  read_decoder(json, defaults, c, notes);
  c.rope.interleaved = true;
  c.qkv_bias = c.output_bias = unwrap(json.bool_or("use_bias", false));
  return c;
}

DecoderModel model_of(const char* architecture, const Config& c, const HeadConfig& head) {
  DecoderModel model = decoder_model(architecture, c);
  model.logits = logits_of(c, norm_of(c), head);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  return model_of("ernie4_5", read_common(json, kDefaults, notes), {});
}

DecoderModel read_moe(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c = read_common(json, kMoeDefaults, notes);
  c.sparse = read_sparse(json, c);
  ExpertConfig& experts = c.experts;
  experts.experts = read_experts(json, "moe_num_experts", kExperts, 1, c, notes);
  experts.per_token = int_or_default(json, "moe_k", std::min(kExpertsPerToken, experts.experts), 1,
                                     experts.experts, notes);
  experts.inner =
      int_or_default(json, "moe_intermediate_size", kExpertIntermediate, 1, kMaxWidth, notes);
  experts.activation = c.activation;
  // "moe_norm_min", the least sum of shares, is far below every sum of the largest.
  unwrap(json.float_or("moe_norm_min", 1e-12, 0, 1e-6));
  experts.router = {.correction = "moe_statics.e_score_correction_bias",
                    .correction_is_row = true,
                    .renormalize = true};
  const int64_t shared =
      unwrap(json.int_or("moe_num_shared_experts", kShared, 0, kMaxWidth / experts.inner));
  c.shared = {.inner = experts.inner * shared, .name = "shared_experts", .bias = c.qkv_bias};
  return model_of("ernie4_5_moe", c, {.bias = c.qkv_bias});
}

}  // namespace tapml::models::ernie4_5
