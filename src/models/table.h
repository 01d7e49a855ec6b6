// The table of architectures.
#pragma once

#include <span>
#include <string_view>

#include "models/config_fields.h"

namespace tapml::models {

struct Architecture {
  const char* name;        // "model_type" of a config.json, ModelInterface::architecture
  const char* class_name;  // in its "architectures"
  const char* base_class;  // in "architectures" of files for the model without a head
  const char* doc;
  // UserError for everything that it cannot express, at the field.
  DecoderModel (*read)(const JsonObjectReader& json, ConfigNotes& notes) = nullptr;
  // The same of an encoder; each architecture has one of the two.
  EncoderModel (*read_encoder)(const JsonObjectReader& json, ConfigNotes& notes) = nullptr;
  int32_t end_of_text = -1;  // the class's default; -1: none
  bool reads_sound = false;  // before each text, as features
  // Whether the class is part of transformers, not of the model folder.
  bool in_transformers = true;
};

std::span<const Architecture> architecture_table();

// UserError that lists the known architectures.
const Architecture& find_architecture(std::string_view name);

}  // namespace tapml::models
