// What people have in place of a file of a model folder.
#pragma once

#include <string>

namespace tapml::frontend {

// UserError where the file `path` begins like something else that is known: a Git LFS pointer, an
// HTML page, a GGUF, a pickle of PyTorch. Says what it is and what to do. Nothing where it cannot
// be read.
void refuse_foreign_file(const std::string& path);

// UserError for `path`, of which no model can be read: what it is (a hub id, a LoRA adapter, files
// of another format, nothing at all) and what to do. Returns where it has a config.json.
void check_model_folder(const std::string& path);

// UserError where the folder has no weights that are read: which ones it has, and what to do.
[[noreturn]] void refuse_folder_without_weights(const std::string& folder);

}  // namespace tapml::frontend
