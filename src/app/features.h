// What a model's encoder reads (Role::kFeatures), as options have it: a tensor, or sound that is
// prepared as the files of the model say.
#pragma once

#include <string>

#include "abi/model_interface.h"
#include "ir/module.h"
#include "tensor/host_tensor.h"

namespace tapml::app {

// One sequence of features, for all texts of a command.
struct FeatureOptions {
  std::string file;        // .npy, .npz or safetensors; empty: none
  HostTensor tensor;       // in place of a file; empty: none
  std::string audio = {};  // in place of both, WAV or FLAC; empty: none

  bool given() const { return !file.empty() || tensor.size() > 0 || !audio.empty(); }
  // Whether the model reads features. UserError if it does and none are given, if it does not and
  // some are, and for features and sound.
  bool are_read_by(const ModelInterface& model) const;
  // The features of a model that reads some, as Engine::set_features() takes them: [m, ...], from
  // that or from [1, m, ...]; else an empty tensor. UserError as above, and for a dtype or a shape
  // that the model's `encode` does not take; of sound, also for a file that cannot be read, and for
  // a `folder`, with the files that were published with the model, that does not say how sound is
  // prepared.
  HostTensor load(const Module& module, const std::string& folder = {}) const;
};

}  // namespace tapml::app
