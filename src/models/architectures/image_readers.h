// The architectures that also read images. Each makes the encoder of a whole config.json for its
// language model `text`, which takes embeddings; UserError for everything that it cannot express,
// at the field.
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

namespace gemma3_images {
ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes);
}
namespace idefics3 {
ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes);
ImageEncoder read_smolvlm(const JsonObjectReader& json, const DecoderModel& text,
                          ConfigNotes& notes);
}  // namespace idefics3
namespace qwen3_vl {
ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes);
}
namespace llava {
ImageEncoder read_images(const JsonObjectReader& json, const DecoderModel& text,
                         ConfigNotes& notes);
}

}  // namespace tapml::models
