// Whisper: an encoder of the log-mel spectrogram of sound, and a decoder that attends to it
// (Radford et al. 2022; the layout and names of Hugging Face's WhisperForConditionalGeneration).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/blocks/bidirectional_attention.h"
#include "models/blocks/convolution.h"
#include "models/blocks/cross_attention.h"
#include "models/blocks/layer.h"

namespace tapml::models::whisper {

using relax::make_shape;
using relax::Variable;

namespace {

constexpr int64_t kMaxHeads = 4096, kMaxBands = 4096;
// Of all layer norms of the class.
constexpr NormConfig kNorm = {.kind = NormConfig::Kind::kLayer, .epsilon = 1e-5, .bias = true};
// The second convolution keeps every second frame.
constexpr int64_t kFramesOfRow = 2;

struct Config : DecoderConfig {
  int64_t bands = 0;  // of the spectrogram
  int64_t rows = 0;   // of the encoder
  int64_t encoder_layers = 0;
  int64_t encoder_heads = 0;
  int64_t encoder_intermediate = 0;

  CrossAttentionConfig cross() const {
    return {.heads = heads, .head_dim = head_dim, .rows = rows};
  }
};

Variable project(Graph& g, const std::string& path, const char* name, const Variable& x,
                 const Config& c) {
  return linear(g, path + "." + name, x, c.hidden, {.bias = std::string_view(name) != "k_proj"});
}

// [b, n, hidden] as [b, n, heads, hidden / heads]; `count` is n.
Variable heads_of(Graph& g, const std::string& path, const Variable& x, const PrimExpr& count,
                  int64_t heads) {
  g.origin(path);
  return g.op("reshape", {x, make_shape({g.batch(), count, heads, Graph::width(x) / heads})});
}

FeedForwardConfig feed_forward_of(int64_t inner, Activation activation) {
  return {.inner = inner, .activation = activation, .bias = true, .up = "fc1", .down = "fc2"};
}

// Of the spectrogram [b, bands, 2 * rows]: [b, rows, hidden].
Variable stem(Graph& g, const std::string& path, const Config& c) {
  g.origin(path);
  Variable x =
      g.op("swap_axes", {g.narrowed(g.features())}, {{"axis1", int64_t{1}}, {"axis2", int64_t{2}}});
  for (const char* name : {".conv1", ".conv2"}) {
    const int64_t stride = std::string_view(name) == ".conv2" ? kFramesOfRow : 1;
    x = convolution(g, path + name, x, {.outputs = c.hidden, .stride = stride});
    x = activate(g, x, Activation::kGelu);
  }
  g.origin(path + ".embed_positions");
  const Variable positions =
      g.stored_weight({path + ".embed_positions.weight", {c.rows, c.hidden}, {}});
  return g.narrowed(residual(g, path, x, positions));
}

Variable encoder_attention(Graph& g, const std::string& path, const Variable& x, const Config& c) {
  const auto heads = [&](const char* name) {
    return heads_of(g, path, project(g, path, name, x, c), c.rows, c.encoder_heads);
  };
  const Variable q = heads("q_proj"), k = heads("k_proj"), v = heads("v_proj");
  const BidirectionalAttentionConfig config = {
      .heads = c.encoder_heads, .head_dim = c.hidden / c.encoder_heads, .rope = {}};
  return project(g, path, "out_proj", attend_both_ways(g, path, q, k, v, config), c);
}

Variable encoded(Graph& g, const Config& c) {
  const std::string path = "model.encoder";
  Variable x = stem(g, path, c);
  for (int64_t layer = 0; layer < c.encoder_layers; ++layer) {
    const std::string own = path + ".layers." + std::to_string(layer);
    x = pre_norm_layer(
        g, own, x, kNorm,
        [&](const Variable& y) { return encoder_attention(g, own + ".self_attn", y, c); },
        [&](const Variable& y) {
          return feed_forward(g, own, y, feed_forward_of(c.encoder_intermediate, c.activation));
        },
        {.before_mix = "self_attn_layer_norm", .before_feed = "final_layer_norm"});
  }
  return norm(g, path + ".layer_norm", x, kNorm);
}

std::string decoder_layer(int64_t layer) { return "model.decoder.layers." + std::to_string(layer); }

void fill_state(Graph& g, const Config& c) {
  const Variable x = encoded(g, c);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string path = decoder_layer(layer) + ".encoder_attn";
    const Variable k = project(g, path, "k_proj", x, c), v = project(g, path, "v_proj", x, c);
    set_cross_state(g, layer, heads_of(g, path, k, c.rows, c.heads),
                    heads_of(g, path, v, c.rows, c.heads), c.cross());
  }
}

Variable self_attention(Graph& g, int64_t layer, const std::string& path, const Variable& x,
                        const Config& c) {
  const auto heads = [&](const char* name) {
    return heads_of(g, path, project(g, path, name, x, c), g.tokens(), c.heads);
  };
  const Variable q = heads("q_proj"), k = heads("k_proj"), v = heads("v_proj");
  AttentionConfig config;
  config.heads = config.kv_heads = c.heads;
  config.head_dim = c.head_dim;
  return project(g, path, "out_proj", attend(g, layer, path, q, k, v, config), c);
}

Variable hidden_states(Graph& g, const Config& c) {
  const std::string path = "model.decoder";
  const Variable tokens = embed_tokens(g, path + ".embed_tokens", c.vocabulary, c.hidden);
  const Variable positions = embed_positions(g, path + ".embed_positions", c.context, c.hidden);
  Variable x = residual(g, path, tokens, positions);
  const CrossRows rows = cross_rows(g, c.rows);
  for (int64_t layer = 0; layer < c.layers; ++layer) {
    const std::string own = decoder_layer(layer), cross = own + ".encoder_attn";
    Variable y = norm(g, own + ".self_attn_layer_norm", x, kNorm);
    x = residual(g, own, x, self_attention(g, layer, own + ".self_attn", y, c));
    y = norm(g, own + ".encoder_attn_layer_norm", x, kNorm);
    y = heads_of(g, cross, project(g, cross, "q_proj", y, c), g.tokens(), c.heads);
    y = cross_attend(g, layer, cross, y, rows, c.cross());
    x = residual(g, own, x, project(g, cross, "out_proj", y, c));
    y = norm(g, own + ".final_layer_norm", x, kNorm);
    y = feed_forward(g, own, y, feed_forward_of(c.intermediate, c.activation));
    x = residual(g, own, x, y);
  }
  return x;
}

Config read_config(const JsonObjectReader& json, ConfigNotes& notes) {
  // Defaults from transformers' WhisperConfig.
  const auto size = [&](const char* key, int64_t fallback, int64_t most) {
    return int_or_default(json, key, fallback, 1, most, notes);
  };
  Config c;
  c.vocabulary = size("vocab_size", 51865, kMaxVocabulary);
  c.hidden = size("d_model", 384, kMaxWidth);
  c.layers = size("decoder_layers", 4, kMaxLayers);
  c.heads = c.kv_heads = size("decoder_attention_heads", 6, kMaxHeads);
  c.intermediate = size("decoder_ffn_dim", 1536, kMaxWidth);
  c.context = size("max_target_positions", 448, kMaxContext);
  c.bands = size("num_mel_bins", 80, kMaxBands);
  c.rows = size("max_source_positions", 1500, kMaxContext);
  c.encoder_layers = size("encoder_layers", 4, kMaxLayers);
  c.encoder_heads = size("encoder_attention_heads", 6, kMaxHeads);
  c.encoder_intermediate = size("encoder_ffn_dim", 1536, kMaxWidth);
  check_divides(json, "d_model", c.hidden, c.heads, "decoder_attention_heads");
  check_divides(json, "d_model", c.hidden, c.encoder_heads, "encoder_attention_heads");
  c.head_dim = c.hidden / c.heads;
  c.activation = activation_or(json, "activation_function", "gelu");
  c.tied_embeddings = unwrap(json.bool_or("tie_word_embeddings", true));
  if (unwrap(json.bool_or("scale_embedding", false))) {
    notes.warnings.push_back(json.source() +
                             ": \"scale_embedding\" is ignored, as in transformers");
  }
  return c;
}

}  // namespace

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  const Config c = read_config(json, notes);
  DecoderModel model = decoder_model("whisper", c);
  model.embedding = "model.decoder.embed_tokens";
  model.last_norm = "model.decoder.layer_norm";
  model.head = "proj_out";
  model.logits = logits_of(c, kNorm, {}, model);
  model.hidden_states = [c](Graph& g) { return hidden_states(g, c); };
  model.encoder = {.features = {c.bands, kFramesOfRow * c.rows},
                   .fill = [c](Graph& g) { fill_state(g, c); }};
  return model;
}

}  // namespace tapml::models::whisper
