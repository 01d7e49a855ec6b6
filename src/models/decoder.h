// Decoders: models that continue a text token by token. An architecture says how hidden states and
// logits are computed from blocks (models/blocks/); this file makes a Module of that.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "ir/module.h"
#include "models/graph.h"

namespace tapml::models {

// What makes embeddings for a decoder's texts of images.
struct ImageEncoder {
  Shape image;  // channels, height, width
  ImageInput input;
  // f32[b, input.rows, embedding_width of the decoder] of the graph's pixels.
  std::function<relax::Variable(Graph& g)> embeddings;
  bool both_ways = false;  // PlacedInputs
  int64_t grid = 0;        // PlacedInputs
  // Further vectors beside each embedding, which the decoder adds to hidden states
  // (add_embeddings()): the embeddings are f32[b, input.rows, (1 + levels) * embedding_width].
  int64_t levels = 0;
  // The path of the vision encoder, of which the published files have more than the model uses.
  std::string tower;
};

// What reads features before a decoder's texts, such as frames of sound.
struct FeatureEncoder {
  Shape features;  // of one text
  // Makes the fixed state of the decoder's blocks of the graph's features.
  std::function<void(Graph& g)> fill;
};

// A configured decoder.
struct DecoderModel {
  std::string architecture;  // ModelInterface::architecture
  int64_t vocabulary = 0;
  int64_t layers = 0;
  int64_t context = 0;           // maximum number of tokens in a sequence
  int64_t page_size = 16;        // tokens in a page of the KV cache
  int64_t short_text = 0;        // ModelInterface::short_text
  bool tied_embeddings = false;  // the head's weight is the embedding's
  // Width of the embeddings that can take the place of tokens' own (place_embeddings()); 0: none
  // can.
  int64_t embedding_width = 0;
  std::optional<ImageEncoder> images;     // of a model that reads images
  std::optional<FeatureEncoder> encoder;  // of a model that attends to features
  // Paths of the weights at both ends.
  std::string embedding = "model.embed_tokens";
  std::string last_norm = "model.norm";
  std::string head = "lm_head";
  // A module in the text format with the tensor programs that the functions call; may be empty.
  std::string programs;
  // Hidden states [b, n, hidden] of the tokens after the last layer.
  std::function<relax::Variable(Graph& g)> hidden_states;
  // Logits f32[..., vocabulary] of hidden states [..., hidden], with the last norm.
  std::function<relax::Variable(Graph& g, const relax::Variable& x, bool tied)> logits;
};

// "model.layers.<layer>"
std::string layer_path(int64_t layer);

// The weight parameters, in the order of the exported functions' parameters, with their published
// names. UserError if a size overflows.
std::vector<WeightSpec> decoder_weights(const DecoderModel& model);

// The Module of architecture contract 7. Symbolic: b sequences, n new tokens, p page-table columns,
// `pages` pages in a pool, `slots` rows of recurrent state.
//   prefill, logits_all (tokens i32[b, n], page_table i32[b, p], lengths i32[b], slots i32[b],
//                        state, weights...) -> (logits, state)
//   decode: the same with n = 1
//   sample (logits f32[b, vocabulary], parameters f32[b, 2] (temperature, top-p), state i64[2])
//          -> (tokens i32[b], state): the largest logit, the lowest index among equal ones
//   draw (logits f32[b, vocabulary], parameters f64[b, 3], state i64[b, 2]) -> (tokens i32[b],
//        state): at random (models/draw.h)
// A model that reads images also has
//   embed_image (pixels f32[b, channels, height, width], weights...) -> (embeddings f32[b, m,
//   width])
// and its prefill and logits_all take embeddings f32[b, m, width] and placement i32[b, n] before
// state. A model that attends to features also has
//   encode (features f32[b, ...], slots i32[b], fixed state, weights...) -> (fixed state)
// State is paged [pages, page_size, ...], or recurrent or fixed [slots, ...]; a function has no
// page_table and lengths without the former, and no slots without the latter. `lengths` counts the
// tokens in the cache before the call. The logits are those of the last token, f32[b, vocabulary],
// or of all, f32[b, n, vocabulary], in logits_all. Activations and state have the dtypes of
// `dtypes.precision` (default: f32, or what the quantization says); weights have the dtypes of
// `dtypes`; a quantized one is two parameters (models/quantization.h). State is updated in place.
// Module attributes: model_interface_attrs and "bound.n", "bound.p", the most that n and p can be.
Module build_decoder(const DecoderModel& model, const ModelDTypes& dtypes);

}  // namespace tapml::models
