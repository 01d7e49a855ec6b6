// Reading config.json and generation_config.json of Hugging Face model directories.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json_reader.h"
#include "models/table.h"

namespace tapml::frontend {

struct HuggingFaceConfig {
  std::string architecture;  // of models::architecture_table
  models::ModelConfig model;
  // "dtype" or "torch_dtype": what weights are stored in that no file gives; f32 when absent.
  DType dtype = DType::kF32;
  std::vector<int32_t> eos;  // tokens that end a text; may be empty
  // "hidden_size (4096)": fields that are absent and took their published default.
  std::vector<std::string> defaulted;
  std::vector<std::string> warnings;  // where fields contradict each other: a sentence each
};

// Reads the text of a config.json as transformers 5 does, in the form of transformers 4
// (rope_theta, rope_scaling, torch_dtype) or 5 (rope_parameters, dtype); `source` names it in
// errors. Absent fields take the defaults of the architecture's class there. UserError, with the
// place, for text that is not JSON, fields of another type or out of range, sizes that do not fit
// each other, and an architecture, activation, rope type or dtype that is not known (the error
// lists those that are).
HuggingFaceConfig parse_config(std::string_view text, const std::string& source);

// eos_token_id of an object: absent or null, one, or several.
std::vector<int32_t> read_eos(const JsonObjectReader& json);

// The eos tokens of a generation_config.json; none where it does not speak of them, so that those
// of config.json hold. An explicit null means that there is no such token.
std::optional<std::vector<int32_t>> parse_generation_eos(std::string_view text,
                                                         const std::string& source);

}  // namespace tapml::frontend
