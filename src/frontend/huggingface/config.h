// Parses config.json and generation_config.json of Hugging Face model directories.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/json_reader.h"
#include "models/decoder.h"
#include "models/encoder.h"

namespace tapml::frontend {

struct HuggingFaceConfig {
  std::string architecture;                     // of models::architecture_table
  models::DecoderModel model;                   // of a decoder
  std::optional<models::EncoderModel> encoder;  // in its place, of an encoder
  models::PoolingConfig pooling;                // of an encoder; config.json does not say it
  // "dtype" or "torch_dtype": the dtype of stored weights, where no weight file gives it; default
  // f32.
  DType dtype = DType::kF32;
  std::vector<int32_t> eos;   // tokens that end a text; may be empty
  bool is_quantized = false;  // the files are, by a method that is supported
  // "hidden_size (4096)": absent fields that got their published default.
  std::vector<std::string> defaulted;
  std::vector<std::string> warnings;  // one sentence for each contradiction between fields

  // The weight parameters, in order.
  std::vector<models::WeightSpec> weights() const;
  // As models::build_decoder() or build_encoder() makes it.
  Module module(const models::ModelDTypes& dtypes) const;
};

// Parses the text of a config.json as transformers 5 does, in the form of transformers 4
// (rope_theta, rope_scaling, torch_dtype) or 5 (rope_parameters, dtype); `source` names it in
// errors. Of a model that also reads images or sound it takes the language model. Absent fields get
// the defaults of the architecture's class in transformers. Throws a UserError, with the location,
// for text that is not JSON, fields with a wrong type or out of range, inconsistent sizes, and an
// unknown architecture, activation, rope type or dtype (the error lists the known ones).
HuggingFaceConfig parse_config(std::string_view text, const std::string& source);

// eos_token_id of an object: absent or null, a single token, or several.
std::vector<int32_t> read_eos(const JsonObjectReader& json);

// The eos tokens of a generation_config.json; nullopt if it does not mention them, so that those of
// config.json apply. An explicit null means that there is no such token.
std::optional<std::vector<int32_t>> parse_generation_eos(std::string_view text,
                                                         const std::string& source);

}  // namespace tapml::frontend
