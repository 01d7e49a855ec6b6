// MPNet: BERT without types of tokens, whose scores have a bias for the distance between two
// tokens, the same in all layers (Song et al. 2020; the layout and names of Hugging Face's
// MPNetModel, without its pooler).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/bert.h"
#include "models/blocks/bidirectional_attention.h"
#include "models/blocks/layer.h"

namespace tapml::models::mpnet {

using relax::Variable;

namespace {

// From transformers' MPNetConfig, which has BERT's but for the vocabulary.
constexpr DecoderDefaults kDefaults = [] {
  DecoderDefaults defaults = kBertDefaults;
  defaults.vocabulary = 30527;
  return defaults;
}();
// MPNetEmbeddings has the padding token 1, whatever the configuration says: the positions of a
// text's tokens follow its row.
constexpr int64_t kFirstPosition = 2;
// MPNetEncoder uses 32 buckets, whatever the table's size: half of them for tokens after a token.
constexpr int64_t kBuckets = 32;
constexpr int64_t kExact = 8;  // distances with a bucket of their own
// The first distances of the buckets after those, which grow with the logarithm up to 128.
constexpr int64_t kFar[] = {12, 16, 23, 32, 46, 64, 91};

struct Config : DecoderConfig {
  int64_t buckets = 0;  // rows of the table
};

Variable embedded(Graph& g, const Config& c) {
  const std::string path = "mpnet.embeddings";
  const Variable tokens = embed_tokens(g, path + ".word_embeddings", c.vocabulary, c.hidden);
  const Variable positions = embed_positions(g, path + ".position_embeddings",
                                             c.context + kFirstPosition, c.hidden, kFirstPosition);
  return norm(g, path + ".LayerNorm", residual(g, path, tokens, positions), layer_norm_of(c));
}

// 1 where the condition holds, else 0.
Variable counted(Graph& g, const Variable& condition) {
  return g.op("cast", {condition}, {{"dtype", DType::kI32}});
}

// The bias of each head for each pair of tokens, [1, heads, n, n].
Variable biases(Graph& g, const Config& c) {
  const std::string path = "mpnet.encoder.relative_attention_bias";
  g.origin(path);
  const auto whole = [&](int64_t value) {
    return g.number(static_cast<double>(value), DType::kI32);
  };
  const Variable before =
      g.op("subtract", {g.token_numbers({1, g.tokens(), 1}), g.token_numbers({1, 1, g.tokens()})});
  const Variable distance = g.op("abs", {before});
  Variable bucket = g.op("minimum", {distance, whole(kExact)});
  for (const int64_t first : kFar) {
    bucket = g.add(bucket, counted(g, g.op("less_equal", {whole(first), distance})));
  }
  const Variable after = counted(g, g.op("less", {before, whole(0)}));
  bucket = g.add(bucket, g.op("multiply", {after, whole(kBuckets / 2)}));
  const Variable rows = embed(g, path, c.buckets, c.heads, bucket);
  return g.widened(g.op("permute", {rows}, {{"axes", std::vector<int64_t>{0, 3, 1, 2}}}));
}

Variable self_attention(Graph& g, const std::string& path, const Variable& x, const Variable& bias,
                        const Config& c) {
  const LinearConfig projection = {.bias = true};
  const auto project = [&](const char* name) {
    const Variable y = linear(g, path + "." + name, x, c.heads * c.head_dim, projection);
    g.origin(path);
    return in_heads(g, y, c.heads, c.head_dim);
  };
  const Variable q = project("q"), k = project("k"), v = project("v");
  const Variable mixed = attend_both_ways(
      g, path, q, k, v, {.heads = c.heads, .head_dim = c.head_dim, .rope = {}, .bias = bias});
  return linear(g, path + ".o", mixed, c.hidden, projection);
}

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig feed = feed_forward_of(c);
  feed.bias = true;
  feed.up = "intermediate.dense";
  feed.down = "output.dense";
  g.origin("mpnet");
  const Variable bias = biases(g, c);
  Variable x = embedded(g, c);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "mpnet.encoder.layer." + std::to_string(layer);
    x = normed_sum_layer(
        g, path, x, layer_norm_of(c),
        [&](const Variable& y) { return self_attention(g, path + ".attention.attn", y, bias, c); },
        [&](const Variable& y) { return feed_forward(g, path, y, feed); },
        {.after_mix = "attention.LayerNorm", .after_feed = "output.LayerNorm"});
  }
  return x;
}

}  // namespace

EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.context -= kFirstPosition;
  if (c.context < 1) {
    throw_error(json.field_error("max_position_embeddings", "leaves no position for a token",
                                 "more than " + std::to_string(kFirstPosition)));
  }
  c.buckets = int_or_default(json, "relative_attention_num_buckets", kBuckets, kBuckets,
                             kMaxVocabulary, notes);
  EncoderModel model = encoder_model("mpnet", c);
  model.unused = {"mpnet.pooler.dense.weight", "mpnet.pooler.dense.bias"};
  for (const char* name : {"bias", "decoder.bias", "decoder.weight", "dense.bias", "dense.weight",
                           "layer_norm.bias", "layer_norm.weight"}) {
    model.unused.push_back(std::string("lm_head.") + name);
  }
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::mpnet
