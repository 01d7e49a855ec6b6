// ModernBERT: rotary positions of two bases, a window in two of three layers, norms before the
// parts of a layer, a gated feed-forward part (Warner et al. 2024; the layout and names of Hugging
// Face's ModernBertModel).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/bidirectional_attention.h"
#include "models/blocks/layer.h"

namespace tapml::models::modernbert {

using relax::Variable;

namespace {

// From transformers' ModernBertConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 50368,
                                       .hidden = 768,
                                       .layers = 22,
                                       .heads = 12,
                                       .context = 8192,
                                       .intermediate = 1152,
                                       .norm_epsilon_key = "norm_eps",
                                       .norm_epsilon = 1e-5,
                                       .theta = 160000,
                                       .theta_key = "global_rope_theta",
                                       .activation_key = "hidden_activation",
                                       .activation = "gelu",
                                       .scalings = RopeScalings::kNone};
constexpr double kLocalTheta = 10000;
constexpr int64_t kPattern = 3;
constexpr int64_t kLocalAttention = 128;

struct Config : DecoderConfig {  // `rope` is of the layers without a window
  RopeConfig local_rope;
  int64_t reach = 0;  // tokens that a window has on either side of a token
  bool attention_bias = false, mlp_bias = false, norm_bias = false;
};

Variable self_attention(Graph& g, const std::string& path, const Variable& x,
                        const BidirectionalAttentionConfig& attention, const Config& c) {
  const LinearConfig projection = {.bias = c.attention_bias};
  const Variable qkv = linear(g, path + ".Wqkv", x, 3 * c.heads * c.head_dim, projection);
  g.origin(path);
  const Variable parts = g.op("split", {qkv}, {{"axis", int64_t{-1}}, {"sections", int64_t{3}}});
  const auto part = [&](int64_t index) {
    return in_heads(g, g.field(parts, index), c.heads, c.head_dim);
  };
  const Variable q = part(0), k = part(1), v = part(2);
  const Variable mixed = attend_both_ways(g, path, q, k, v, attention);
  return linear(g, path + ".Wo", mixed, c.hidden, projection);
}

Variable hidden_states(Graph& g, const Config& c) {
  const NormConfig norm_config = layer_norm_of(c, c.norm_bias);
  FeedForwardConfig feed = feed_forward_of(c);
  feed.bias = c.mlp_bias;
  feed.gate_up = "Wi";
  feed.down = "Wo";
  g.origin("model");
  const auto kind = [&](int64_t reach, const RopeConfig& rope) {
    return BidirectionalAttentionConfig{.heads = c.heads,
                                        .head_dim = c.head_dim,
                                        .reach = reach,
                                        .rope = make_rope(rope, c.head_dim),
                                        .bias = {}};
  };
  const BidirectionalAttentionConfig everywhere = kind(0, c.rope),
                                     near = kind(c.reach, c.local_rope);
  Variable x = embed_tokens(g, "model.embeddings.tok_embeddings", c.vocabulary, c.hidden);
  x = norm(g, "model.embeddings.norm", x, norm_config);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = layer_path(layer);
    // The embeddings have a norm already.
    const Variable y = layer == 0 ? x : norm(g, path + ".attn_norm", x, norm_config);
    const BidirectionalAttentionConfig& own =
        c.windowed[static_cast<size_t>(layer)] ? near : everywhere;
    x = residual(g, path, x, self_attention(g, path + ".attn", y, own, c));
    const Variable z = norm(g, path + ".mlp_norm", x, norm_config);
    x = residual(g, path, x, fused_gated_feed_forward(g, path + ".mlp", z, feed));
  }
  return norm(g, "model.final_norm", x, norm_config);
}

}  // namespace

EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  const int64_t pattern =
      unwrap(json.int_or("global_attn_every_n_layers", kPattern, 1, kMaxLayers));
  c.windowed = read_windowed(json, c, [&](int64_t layer) { return layer % pattern != 0; });
  c.reach = unwrap(json.int_or("local_attention", kLocalAttention, 2, kMaxContext)) / 2;
  // Before transformers 5 the two bases were fields of their own.
  c.local_rope.theta = unwrap(json.float_or("local_rope_theta", kLocalTheta, 1, 1e12));
  read_layer_rotations(json, c, c.local_rope, notes, kDefaults);
  c.attention_bias = unwrap(json.bool_or("attention_bias", false));
  c.mlp_bias = unwrap(json.bool_or("mlp_bias", false));
  c.norm_bias = unwrap(json.bool_or("norm_bias", false));
  EncoderModel model = encoder_model("modernbert", c);
  model.unused = {"head.dense.weight", "head.dense.bias", "head.norm.weight",
                  "head.norm.bias",    "decoder.weight",  "decoder.bias"};
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::modernbert
