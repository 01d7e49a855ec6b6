// Recognizes files that are not what a model folder should contain.
#pragma once

#include <string>

namespace tapml::frontend {

// Throws a UserError if the file `path` starts like another known format: a Git LFS pointer, an
// HTML page, a GGUF, a PyTorch pickle. The error names the format and a remedy. Returns if the file
// cannot be read.
void refuse_foreign_file(const std::string& path);

// Throws a UserError if no model can be read from `path`: the error says what it is (a hub id, a
// LoRA adapter, files of another format, nothing) and what to do. Returns if it has a config.json.
void check_model_folder(const std::string& path);

// Throws a UserError for a folder without supported weights: which ones it has, and what to do.
[[noreturn]] void refuse_folder_without_weights(const std::string& folder);

}  // namespace tapml::frontend
