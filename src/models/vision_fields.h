// The fields of a config.json's "vision_config", as Hugging Face names them.
#pragma once

#include "models/blocks/vision_transformer.h"
#include "models/config_fields.h"

namespace tapml::models {

// What the configuration class of a vision encoder says: defaults of absent fields, and what its
// published code does.
struct VisionDefaults {
  const char* name;  // "model_type"
  int64_t hidden = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t intermediate = 3072;
  int64_t side = 224;
  int64_t patch = 16;
  const char* activation = "gelu_pytorch_tanh";
  double norm_epsilon = 1e-6;
  bool is_clip = false;  // a class, a norm before the layers, and no bias of the patches
};

// transformers' SiglipVisionConfig.
inline constexpr VisionDefaults kSiglipVision = {.name = "siglip_vision_model"};

// The encoder in "vision_config", with all of its layers and without a last norm. "model_type" is
// one of `known`, or the first of them where it is absent. UserError for everything that the
// configuration cannot express.
VisionConfig read_vision(const JsonObjectReader& json, std::span<const VisionDefaults> known,
                         ConfigNotes& notes);

// The token that stands for an embedding of an image, at the first of these fields that is there.
int32_t read_image_token(const JsonObjectReader& json, std::span<const char* const> keys,
                         int32_t fallback, int64_t vocabulary);

}  // namespace tapml::models
