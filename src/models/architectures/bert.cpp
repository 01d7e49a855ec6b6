// BERT: learned positions and types of tokens, norms after the sums of a layer, biases (Devlin et
// al. 2019; the layout and names of Hugging Face's BertModel, without its pooler). All tokens are
// of the first type, as those of a single text are.
#include "models/architectures/bert.h"

#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/bidirectional_attention.h"
#include "models/blocks/layer.h"

namespace tapml::models {

using relax::Variable;

namespace {

constexpr int64_t kTypes = 2;

Variable embedded(Graph& g, const BertConfig& c) {
  const std::string path = c.prefix + ".embeddings";
  const Variable tokens = embed_tokens(g, path + ".word_embeddings", c.vocabulary, c.hidden);
  const Variable first =
      g.op("full", {relax::make_shape({1, 1})}, {{"value", 0.0}, {"dtype", DType::kI32}});
  const Variable type = embed(g, path + ".token_type_embeddings", c.types, c.hidden, first);
  const Variable typed = residual(g, path, tokens, type);
  const Variable positions = embed_positions(
      g, path + ".position_embeddings", c.context + c.first_position, c.hidden, c.first_position);
  return norm(g, path + ".LayerNorm", residual(g, path, typed, positions), layer_norm_of(c));
}

Variable self_attention(Graph& g, const std::string& path, const Variable& x, const BertConfig& c) {
  const LinearConfig projection = {.bias = true};
  const auto project = [&](const char* name) {
    const Variable y = linear(g, path + ".self." + name, x, c.heads * c.head_dim, projection);
    g.origin(path + ".self");
    return in_heads(g, y, c.heads, c.head_dim);
  };
  const Variable q = project("query"), k = project("key"), v = project("value");
  const Variable mixed =
      attend_both_ways(g, path + ".self", q, k, v,
                       {.heads = c.heads, .head_dim = c.head_dim, .rope = {}, .bias = {}});
  return linear(g, path + ".output.dense", mixed, c.hidden, projection);
}

Variable hidden_states(Graph& g, const BertConfig& c) {
  FeedForwardConfig feed = feed_forward_of(c);
  feed.bias = true;
  feed.up = "intermediate.dense";
  feed.down = "output.dense";
  g.origin(c.prefix);
  Variable x = embedded(g, c);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = c.prefix + ".encoder.layer." + std::to_string(layer);
    x = normed_sum_layer(
        g, path, x, layer_norm_of(c),
        [&](const Variable& y) { return self_attention(g, path + ".attention", y, c); },
        [&](const Variable& y) { return feed_forward(g, path, y, feed); },
        {.after_mix = "attention.output.LayerNorm", .after_feed = "output.LayerNorm"});
  }
  return x;
}

}  // namespace

BertConfig read_bert_config(const JsonObjectReader& json, const DecoderDefaults& defaults,
                            ConfigNotes& notes) {
  BertConfig c;
  read_decoder(json, defaults, c, notes);
  c.types = int_or_default(json, "type_vocab_size", kTypes, 1, kMaxVocabulary, notes);
  static constexpr std::string_view kPositions[] = {"absolute"};
  if (json.has("position_embedding_type")) {
    unwrap(json.required_choice("position_embedding_type", kPositions));
  }
  refuse_set(json, "is_decoder", "is true: a model that continues texts is not supported here");
  refuse_set(json, "add_cross_attention", "is true: cross attention is not supported");
  return c;
}

EncoderModel bert_model(const char* architecture, const BertConfig& config) {
  EncoderModel model = encoder_model(architecture, config);
  model.unused = {config.prefix + ".pooler.dense.weight", config.prefix + ".pooler.dense.bias"};
  model.hidden_states = [config](Graph& g) { return hidden_states(g, config); };
  return model;
}

EncoderModel bert::read(const JsonObjectReader& json, ConfigNotes& notes) {
  EncoderModel model = bert_model("bert", read_bert_config(json, kBertDefaults, notes));
  for (const char* name :
       {"bias", "decoder.bias", "decoder.weight", "transform.dense.bias", "transform.dense.weight",
        "transform.LayerNorm.bias", "transform.LayerNorm.weight"}) {
    model.unused.push_back(std::string("cls.predictions.") + name);
  }
  model.unused.insert(model.unused.end(),
                      {"cls.seq_relationship.bias", "cls.seq_relationship.weight"});
  return model;
}

}  // namespace tapml::models
