// What the texts of a command have besides their tokens, as options have it.
#pragma once

#include "app/embeddings.h"
#include "app/features.h"
#include "app/images.h"
#include "frontend/huggingface/decoder_prefix.h"

namespace tapml::app {

struct TextInputOptions {
  FeatureOptions features;
  EmbeddingOptions embeddings;
  ImageOptions images;

  // Whether the model takes some of them. UserErrors as of each.
  bool are_taken_by(const ModelInterface& model) const {
    const bool reads_features = features.are_read_by(model);
    const bool takes_embeddings = embeddings.are_taken_by(model);
    return images.are_read_by(model) || takes_embeddings || reads_features;
  }
  // `folder` has the files that were published with the model.
  llm::TextInputs load(const Module& module, const std::string& folder) const {
    llm::TextInputs inputs = {
        features.load(module, folder), embeddings.load(module), images.load(module, folder), {}};
    if (inputs.features.size() > 0) inputs.prefix = frontend::read_decoder_prefix(folder);
    return inputs;
  }
};

}  // namespace tapml::app
