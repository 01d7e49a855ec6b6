// Executables on disk, with the models that they were made from (docs/executable-format.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "exec/executable_file.h"
#include "frontend/huggingface/model.h"
#include "target/target.h"

namespace tapml::app {

// Whether the path is a file that starts as an executable does; UserError for one that cannot be
// read.
bool is_executable_file(const std::string& path);

// `executable`, made for `target` of `fixed` (kernels formed), as a file: its code becomes
// one that needs no compiler to run.
ExecutableFile executable_file(const Executable& executable, const target::Target& target,
                               const Module& fixed, ModelSource source);

// Maps and reads one; UserError for whatever is wrong with it.
ExecutableFile load_executable(const std::string& path);

// Where the weights of `model`, read from `folder`, are. With an empty folder (config.json alone)
// only what they must look like.
ModelSource source_of(const frontend::HuggingFaceModel& model, const std::string& folder);

// The folder with weights and tokenizer: `folder` where given, else the one that the file names.
// UserError where there is neither.
std::string model_folder(const ExecutableFile& file, const std::string& path,
                         const std::string& folder);

// The weights that `file` was made for, mapped. They are hashed where the folder is another one, or
// a file's size or time is not what it was; UserError for weights that are not the same.
std::map<std::string, HostTensor> load_source_weights(const ExecutableFile& file,
                                                      const std::string& folder);

// The target that an executable runs on: its own, or `wanted` of the same platform (with other
// options). UserError for another platform.
target::Target executable_target(const ExecutableFile& file, const std::string& path,
                                 const std::optional<std::string>& wanted,
                                 const target::PlatformTable& table = target::platforms());

}  // namespace tapml::app
