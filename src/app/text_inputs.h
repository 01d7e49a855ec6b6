// What the texts of a command have besides their tokens, as options have it.
#pragma once

#include "app/embeddings.h"
#include "app/features.h"

namespace tapml::app {

struct TextInputOptions {
  FeatureOptions features;
  EmbeddingOptions embeddings;

  // Whether the model takes some of them. UserErrors as of both.
  bool are_taken_by(const ModelInterface& model) const {
    const bool reads_features = features.are_read_by(model);
    return embeddings.are_taken_by(model) || reads_features;
  }
  llm::TextInputs load(const Module& module) const {
    return {features.load(module), embeddings.load(module)};
  }
};

}  // namespace tapml::app
