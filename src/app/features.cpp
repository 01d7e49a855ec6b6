#include "app/features.h"

#include "app/model_input.h"
#include "app/tensor_file.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

constexpr const char* kFeaturesOption = "--features";
constexpr const char* kEncode = "encode";

}  // namespace

bool FeatureOptions::are_read_by(const ModelInterface& model) const {
  const bool reads = model.find_function(kEncode) != nullptr;
  if (given() && !reads) {
    throw_user("the model reads no features", kFeaturesOption,
               "a model with an encoder (function encode)", model.architecture,
               std::string("leave ") + kFeaturesOption + " out");
  }
  if (reads && !given()) {
    throw_user("the model has an encoder, which needs features", kFeaturesOption,
               "FILE with the features", "none",
               std::string("give ") + kFeaturesOption + " FILE (.npy, .npz or safetensors)");
  }
  return reads;
}

HostTensor FeatureOptions::load(const Module& module) const {
  const ModelInterface model = unwrap(model_interface_of(module.all_attrs()));
  if (!are_read_by(model)) return {};
  const ModelInput input(module, *model.find_function(kEncode), Role::kFeatures);
  return input.of_one_text(tensor.size() > 0 ? tensor : read_tensor(file, "", "features"),
                           file.empty() ? kFeaturesOption : kFeaturesOption + (" " + file));
}

}  // namespace tapml::app
