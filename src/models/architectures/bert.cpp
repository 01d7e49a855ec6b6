// BERT: learned positions and types of tokens, norms after the sums of a layer, biases (Devlin et
// al. 2019; the layout and names of Hugging Face's BertModel, without its pooler). All tokens are
// of the first type, as those of a single text are.
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/bidirectional_attention.h"
#include "models/blocks/layer.h"

namespace tapml::models::bert {

using relax::Variable;

namespace {

// From transformers' BertConfig.
constexpr DecoderDefaults kDefaults = {.vocabulary = 30522,
                                       .hidden = 768,
                                       .layers = 12,
                                       .heads = 12,
                                       .context = 512,
                                       .intermediate = 3072,
                                       .norm_epsilon_key = "layer_norm_eps",
                                       .norm_epsilon = 1e-12,
                                       .activation = "gelu",
                                       .scalings = RopeScalings::kNone};
constexpr int64_t kTypes = 2;

struct Config : DecoderConfig {
  int64_t types = 0;  // of tokens
};

Variable embedded(Graph& g, const Config& c) {
  const std::string path = "bert.embeddings";
  const Variable tokens = embed_tokens(g, path + ".word_embeddings", c.vocabulary, c.hidden);
  const Variable first =
      g.op("full", {relax::make_shape({1, 1})}, {{"value", 0.0}, {"dtype", DType::kI32}});
  const Variable type = embed(g, path + ".token_type_embeddings", c.types, c.hidden, first);
  const Variable typed = residual(g, path, tokens, type);
  const Variable positions = embed_positions(g, path + ".position_embeddings", c.context, c.hidden);
  return norm(g, path + ".LayerNorm", residual(g, path, typed, positions), layer_norm_of(c));
}

Variable self_attention(Graph& g, const std::string& path, const Variable& x, const Variable& seen,
                        const Config& c) {
  const LinearConfig projection = {.bias = true};
  const auto project = [&](const char* name) {
    const Variable y = linear(g, path + ".self." + name, x, c.heads * c.head_dim, projection);
    g.origin(path + ".self");
    return in_heads(g, y, c.heads, c.head_dim);
  };
  const Variable q = project("query"), k = project("key"), v = project("value");
  const Variable mixed = attend_both_ways(g, path + ".self", q, k, v, seen,
                                          {.heads = c.heads, .head_dim = c.head_dim, .rope = {}});
  return linear(g, path + ".output.dense", mixed, c.hidden, projection);
}

Variable hidden_states(Graph& g, const Config& c) {
  FeedForwardConfig feed = feed_forward_of(c);
  feed.bias = true;
  feed.up = "intermediate.dense";
  feed.down = "output.dense";
  g.origin("bert");
  const Variable seen = seen_tokens(g);
  Variable x = embedded(g, c);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = "bert.encoder.layer." + std::to_string(layer);
    x = normed_sum_layer(
        g, path, x, layer_norm_of(c),
        [&](const Variable& y) { return self_attention(g, path + ".attention", y, seen, c); },
        [&](const Variable& y) { return feed_forward(g, path, y, feed); },
        {.after_mix = "attention.output.LayerNorm", .after_feed = "output.LayerNorm"});
  }
  return x;
}

}  // namespace

EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  Config c;
  read_decoder(json, kDefaults, c, notes);
  c.types = int_or_default(json, "type_vocab_size", kTypes, 1, kMaxVocabulary, notes);
  static constexpr std::string_view kPositions[] = {"absolute"};
  if (json.has("position_embedding_type")) {
    unwrap(json.required_choice("position_embedding_type", kPositions));
  }
  refuse_set(json, "is_decoder", "is true: a BERT that continues texts is not supported");
  refuse_set(json, "add_cross_attention", "is true: cross attention is not supported");
  EncoderModel model = encoder_model("bert", c);
  model.unused = {"bert.pooler.dense.weight",
                  "bert.pooler.dense.bias",
                  "cls.predictions.bias",
                  "cls.predictions.decoder.bias",
                  "cls.predictions.decoder.weight",
                  "cls.predictions.transform.dense.bias",
                  "cls.predictions.transform.dense.weight",
                  "cls.predictions.transform.LayerNorm.bias",
                  "cls.predictions.transform.LayerNorm.weight",
                  "cls.seq_relationship.bias",
                  "cls.seq_relationship.weight"};
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  return model;
}

}  // namespace tapml::models::bert
