// The table of published models that read images or sound besides text.
#pragma once

#include <span>
#include <string>

#include "models/config_fields.h"

namespace tapml::models {

// The fields of its language model are in "text_config". Without `read_images` only that is read.
struct Wrapper {
  const char* name;        // "model_type" of a config.json
  const char* class_name;  // in its "architectures"
  const char* text;        // "model_type" of the language model where it is absent
  bool tied = true;        // "tie_word_embeddings" where it is absent
  // The encoder of a whole config.json with a "vision_config" for its language model, which takes
  // embeddings. UserError for everything that it cannot express, at the field.
  ImageEncoder (*read_images)(const JsonObjectReader& json, const DecoderModel& text,
                              ConfigNotes& notes) = nullptr;
  // A "model_type" of its own that the language model `text` has inside of this class, with which
  // alone its images work; may be null.
  const char* inner_text = nullptr;
};

std::span<const Wrapper> wrapper_table();

}  // namespace tapml::models
