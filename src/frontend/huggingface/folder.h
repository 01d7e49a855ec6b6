// Where the files of a model folder are.
#pragma once

#include <string>

namespace tapml::frontend {

// The folder itself, or of the root of an entry in Hugging Face's cache (models--ORG--NAME) the
// snapshot that its refs/main names, else the newest. Any other path as it is.
std::string resolve_model_folder(const std::string& path);

// tokenizer.json in a folder. UserError where it is missing, with what to do about the forms of
// tokenizers that are there in its place, and where it is something else by that name.
std::string tokenizer_path(const std::string& folder);

}  // namespace tapml::frontend
