// The executable file format: one file with everything but the weights (docs/executable-format.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/executable.h"

namespace tapml {

// Incremented with every change of the layout; other versions are rejected.
inline constexpr uint32_t kExecutableVersion = 3;

// A weight of the model's files at the time the executable was made.
struct WeightRecord {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::string hash;                // content_hash(); parts count as one tensor
  std::vector<std::string> parts;  // if files have a tensor for each index of the first dimension
  std::string quantization;        // layout ("q4f32"); empty: kept as is
};

// A file of weights: its tensors are not hashed again while name, size and time are unchanged.
struct WeightFile {
  std::string name;  // inside the folder
  int64_t size = 0;
  int64_t modified = 0;  // nanoseconds since 1970
};

// Location of a model's weights and tokenizer. No folder: the executable was made from only a
// configuration, or from a text module.
struct ModelSource {
  std::string folder;
  std::vector<WeightFile> files;
  std::vector<WeightRecord> weights;
};

struct ExecutableFile {
  Executable executable;
  ModelSource source;
  std::string compiler;                                      // program and version that made it
  std::vector<std::pair<std::string, std::string>> options;  // compile options
  std::string module;  // text of the Module with its kernels formed: the start of a migration
};

// The file's bytes, deterministic. InternalError for an executable that validate() rejects.
Result<std::vector<std::byte>> write_executable(const ExecutableFile& file);

// Reads a file image that `owner` keeps alive (constants stay views of it). Every fault is a
// UserError that names `source` and the section: another format, byte order or version, truncated,
// altered (by checksum), malformed, or rejected by validate(). Machine code is not inspected: it is
// trusted as much as the file.
Result<ExecutableFile> read_executable(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner,
                                       const std::string& source);

// The same without verifying checksums: for tests and fuzzing of the later checks.
Result<ExecutableFile> read_executable_unchecked(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner,
                                                 const std::string& source);

// Whether a file that starts with these bytes claims to be an executable.
bool looks_like_executable(std::span<const std::byte> bytes);

}  // namespace tapml
