// Embeddings that take the place of tokens (Role::kEmbeddings), as options have them.
#pragma once

#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "ir/module.h"
#include "llm/text_inputs.h"

namespace tapml::app {

// The same for all texts of a command.
struct EmbeddingOptions {
  // FILE[@POSITION]: the tensor of a .npy, .npz or safetensors file, and the position of its first
  // row in a text; without one, after the rows of the file before it, or 0.
  std::vector<std::string> files;
  struct Tensor {
    HostTensor rows;
    int64_t position = 0;
  };
  std::vector<Tensor> tensors;  // after those in files

  bool given() const { return !files.empty() || !tensors.empty(); }
  // Whether some are given. UserError if the model takes none then.
  bool are_taken_by(const ModelInterface& model) const;
  // The embeddings as Engine::set_embeddings() takes them, each from [m, d] or [1, m, d]. UserError
  // as above, for a dtype or a shape that the model's `prefill` does not take, and for positions
  // that are outside the model's context, or have an embedding already.
  llm::PlacedEmbeddings load(const Module& module) const;
};

// UserError for an embedding whose position is not among the first `tokens`, where a text takes
// some.
void check_positions(const llm::PlacedEmbeddings& embeddings, int64_t tokens);

}  // namespace tapml::app
