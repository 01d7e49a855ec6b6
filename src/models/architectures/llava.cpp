// LLaVA 1.5: the hidden states that an early layer of a vision encoder has of an image's patches go
// through two linear layers and take the place of tokens (Liu et al. 2023; the layout and names of
// Hugging Face's LlavaForConditionalGeneration).
#include <array>

#include "ir/exceptions.h"
#include "models/architectures/image_readers.h"
#include "models/vision_fields.h"

namespace tapml::models::llava {

using relax::Variable;

namespace {

// From transformers' CLIPVisionConfig.
constexpr std::array kEncoders = {VisionDefaults{.name = "clip_vision_model",
                                                 .patch = 32,
                                                 .activation = "quick_gelu",
                                                 .norm_epsilon = 1e-5,
                                                 .is_clip = true},
                                  kSiglipVision};
constexpr int32_t kImageToken = 32000;
constexpr const char* kTower = "model.vision_tower";
constexpr const char* kProjector = "model.multi_modal_projector";

struct Config {
  VisionConfig vision;  // as far as the layer whose hidden states are taken
  bool drops_class = true;
  int64_t hidden = 0;
  Activation activation = Activation::kGelu;
  bool bias = true;

  int64_t rows() const { return vision.patches() + (vision.has_class && !drops_class ? 1 : 0); }
};

// "vision_feature_layer" counts the encoder's input as 0, or from the end.
void read_feature_layer(const JsonObjectReader& json, VisionConfig& vision) {
  const char* key = "vision_feature_layer";
  const Json* field = json.find(key);
  if (field && !field->is_integer()) {
    throw_error(json.field_error(key, "is not one layer: features of several are not supported",
                                 "an integer"));
  }
  const int64_t layer = unwrap(json.int_or(key, -2, -vision.layers - 1, vision.layers));
  vision.layers = layer < 0 ? vision.layers + 1 + layer : layer;
}

Variable embeddings(Graph& g, const Config& c) {
  Variable x = vision_transformer(g, kTower, g.pixels(), c.vision);
  if (c.drops_class) {
    g.origin("model");
    x = g.op("slice", {x, relax::make_shape({1}), relax::make_shape({c.vision.patches() + 1})},
             {{"axes", std::vector<int64_t>{1}}});
  }
  const std::string path = kProjector;
  const LinearConfig projection = {.bias = c.bias};
  x = linear(g, path + ".linear_1", x, c.hidden, projection);
  g.origin(path + ".act");
  x = activate(g, x, c.activation);
  return g.widened(linear(g, path + ".linear_2", x, c.hidden, projection));
}

}  // namespace

ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes) {
  Config c;
  c.vision = read_vision(json, kEncoders, notes);
  read_feature_layer(json, c.vision);
  const char* strategy = "vision_feature_select_strategy";
  static constexpr std::array<std::string_view, 2> kStrategies = {"default", "full"};
  c.drops_class =
      !json.has(strategy) || unwrap(json.required_choice(strategy, kStrategies)) == "default";
  if (c.drops_class && !c.vision.has_class) {
    throw_error(
        json.field_error(strategy, "drops the class, which this encoder has not", "\"full\""));
  }
  c.hidden = text.embedding_width;
  c.activation = activation_or(json, "projector_hidden_act", "gelu");
  c.bias = unwrap(json.bool_or("multimodal_projector_bias", true));
  static constexpr std::array kTokenKeys = {"image_token_index", "image_token_id"};
  ImageInput input;
  input.token = read_image_token(json, kTokenKeys, kImageToken, text.vocabulary);
  input.rows = c.rows();
  return {.image = {c.vision.channels, c.vision.side, c.vision.side},
          .input = std::move(input),
          .embeddings = [c](Graph& g) { return embeddings(g, c); },
          .tower = kTower};
}

}  // namespace tapml::models::llava
