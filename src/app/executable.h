// Executables on disk, with a reference to the models they were made from
// (docs/executable-format.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "exec/executable_file.h"
#include "frontend/huggingface/model.h"
#include "target/target.h"

namespace tapml::app {

// Whether the file begins like an executable; UserError if it cannot be read.
bool is_executable_file(const std::string& path);

// Converts `executable`, compiled for `target` from `fixed` (kernels formed), to a file whose code
// needs no compiler to run.
ExecutableFile executable_file(const Executable& executable, const target::Target& target,
                               const Module& fixed, ModelSource source);
// The same, with the module's text.
ExecutableFile executable_file(const Executable& executable, const target::Target& target,
                               std::string fixed, ModelSource source);

// Maps and reads an executable file; UserError if it is invalid.
ExecutableFile load_executable(const std::string& path);

// Describes where the weights of `model`, read from `folder`, are. If `folder` is empty
// (config.json alone), only their required shapes and dtypes.
ModelSource source_of(const frontend::HuggingFaceModel& model, const std::string& folder);

// The folder with weights and tokenizer: `folder` if given, else the one that the file names.
// UserError if there is neither.
std::string model_folder(const ExecutableFile& file, const std::string& path,
                         const std::string& folder);

// The weights that `file` was made for, mapped. They are hashed if the folder, or a file's size or
// time, has changed; UserError if they differ.
std::map<std::string, HostTensor> load_source_weights(const ExecutableFile& file,
                                                      const std::string& folder);

// The target that an executable runs on: its own, or `wanted` of the same platform (with other
// options). UserError for another platform.
target::Target executable_target(const ExecutableFile& file, const std::string& path,
                                 const std::optional<std::string>& wanted,
                                 const target::PlatformTable& table = target::platforms());

}  // namespace tapml::app
