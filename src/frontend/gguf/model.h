// GGUF files as models: what a folder of Hugging Face's files has, from one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frontend/huggingface/config.h"
#include "frontend/huggingface/weights.h"

namespace tapml::frontend {

// Whether `path` is a file that begins as a GGUF does.
bool is_gguf_model(const std::string& path);

// What the files of a folder would say.
struct GgufModel {
  HuggingFaceConfig config;
  std::vector<int32_t> eos;  // tokens that end a text; may be empty
  WeightFiles weights;       // by published names
};

// UserError for a file that is broken, of an architecture without a mapping, with values that
// parse_config() refuses, or one of several that a model is split into.
GgufModel open_gguf_model(const std::string& path);
// The tokens that end a text alone.
std::vector<int32_t> gguf_eos(const std::string& path);
// The weights alone.
WeightFiles open_gguf_weights(const std::string& path);

// Texts of the tokenizer.json and tokenizer_config.json that the model would have.
struct GgufTokenizer {
  std::string tokenizer, config;
};
// UserError for a tokenizer of a kind that is not supported.
GgufTokenizer open_gguf_tokenizer(const std::string& path);

}  // namespace tapml::frontend
