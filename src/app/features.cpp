#include "app/features.h"

#include "app/model_input.h"
#include "app/tensor_file.h"
#include "audio/decode.h"
#include "audio/preparation.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

constexpr const char *kFeaturesOption = "--features", *kAudioOption = "--audio";
constexpr const char* kEncode = "encode";

HostTensor features_of_sound(const std::string& file, const std::string& folder) {
  const audio::Preparation preparation = unwrap(audio::read_preparation(folder));
  const audio::Sound sound =
      unwrap(audio::read_sound(file, static_cast<double>(preparation.seconds)));
  return unwrap(audio::prepared(sound, preparation, file));
}

}  // namespace

bool FeatureOptions::are_read_by(const ModelInterface& model) const {
  const bool reads = model.find_function(kEncode) != nullptr;
  const bool is_sound = !audio.empty();
  const std::string option = is_sound ? kAudioOption : kFeaturesOption;
  if (given() && !reads) {
    throw_user(is_sound ? "the model reads no sound" : "the model reads no features", option,
               "a model with an encoder (function encode)", model.architecture,
               "leave " + option + " out");
  }
  if (is_sound && (!file.empty() || tensor.size() > 0)) {
    throw_user("features are given twice", option, "one of --audio and --features", "both",
               "leave one of them out");
  }
  if (reads && !given()) {
    throw_user("the model has an encoder, which needs features", kFeaturesOption,
               "FILE with the features", "none",
               "give --features FILE (.npy, .npz or safetensors), or --audio FILE to a model of "
               "sound");
  }
  return reads;
}

HostTensor FeatureOptions::load(const Module& module, const std::string& folder) const {
  const ModelInterface model = unwrap(model_interface_of(module.all_attrs()));
  if (!are_read_by(model)) return {};
  const ModelInput input(module, *model.find_function(kEncode), Role::kFeatures);
  if (!audio.empty()) {
    return input.of_one_text(features_of_sound(audio, folder), kAudioOption + (" " + audio));
  }
  return input.of_one_text(tensor.size() > 0 ? tensor : read_tensor(file, "", "features"),
                           file.empty() ? kFeaturesOption : kFeaturesOption + (" " + file));
}

}  // namespace tapml::app
