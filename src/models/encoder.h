// Encoders: models that read a text as a whole and make a vector of it. An architecture says how
// hidden states are computed from blocks (models/blocks/); this file makes a Module of that.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "models/blocks/pooling.h"
#include "models/graph.h"

namespace tapml::models {

// A configured encoder.
struct EncoderModel {
  std::string architecture;  // ModelInterface::architecture
  int64_t vocabulary = 0;
  int64_t context = 0;  // maximum number of tokens in a text
  // Weights of published files that no embedding needs: those of heads for other tasks.
  std::vector<std::string> unused;
  // Hidden states [b, n, hidden] of the tokens after the last layer and its norm. Tokens after the
  // valid ones have any finite ones, which do not affect those of the others.
  std::function<relax::Variable(Graph& g)> hidden_states;
};

// As decoder_weights().
std::vector<WeightSpec> encoder_weights(const EncoderModel& model);

// The Module of architecture contract 7. Symbolic: b texts, n tokens of the longest.
//   embed (tokens i32[b, n], feature_lengths i32[b], weights...) -> (embeddings f32[b, hidden])
// The first feature_lengths[i] tokens of text i count, at least 1; what follows them must be in the
// vocabulary and has no effect. Activations and weights have the dtypes of `dtypes` as in
// build_decoder(). Module attributes: model_interface_attrs and "bound.n".
Module build_encoder(const EncoderModel& model, const PoolingConfig& pooling,
                     const ModelDTypes& dtypes);

}  // namespace tapml::models
