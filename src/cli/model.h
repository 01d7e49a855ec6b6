// A language model as the commands use it: weights, tokenizer, engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "frontend/huggingface/model.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::cli {

struct LoadedModel {
  frontend::HuggingFaceModel files;
  Tokenizer tokenizer;
};

// Reads a model directory with its tokenizer; warnings go to stderr.
LoadedModel load_model(const std::string& folder);

// Token ids of a prompt; UserError for an empty one and one that does not fit the context.
std::vector<int32_t> encode_prompt(const LoadedModel& model, const std::string& prompt);

}  // namespace tapml::cli
