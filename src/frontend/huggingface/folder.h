// Finds the files of a model folder.
#pragma once

#include <string>

namespace tapml::frontend {

// For the root of an entry in Hugging Face's cache (models--ORG--NAME), the snapshot in its
// refs/main, or else the newest snapshot. Any other path is returned unchanged.
std::string resolve_model_folder(const std::string& path);

// Path of a folder's tokenizer, the file `name`. Throws a UserError if it is missing, with advice
// on other tokenizer formats that the folder has, or if the file has another format.
std::string tokenizer_path(const std::string& folder, const std::string& name = "tokenizer.json");

}  // namespace tapml::frontend
