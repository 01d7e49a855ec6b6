// Executables on disk: one file that holds everything but the weights (docs/executable-format.md).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/executable.h"

namespace tapml {

// Bumped with every change of the layout; other versions are refused.
inline constexpr uint32_t kExecutableVersion = 1;

// A weight of the model's files as it was when the executable was made.
struct WeightRecord {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::string hash;  // content_hash(); of parts, as if they were one tensor
  std::vector<std::string>
      parts;                 // where files have a tensor for each index of the first dimension
  std::string quantization;  // what becomes of it ("q4f32"); empty: it is taken as it is
};

// A file of weights: while name, size and time stay, its tensors are not hashed again.
struct WeightFile {
  std::string name;  // inside the folder
  int64_t size = 0;
  int64_t modified = 0;  // nanoseconds since 1970
};

// Where a model's weights and tokenizer are. No folder: the executable was made from a
// configuration alone, or from a text module.
struct ModelSource {
  std::string folder;
  std::vector<WeightFile> files;
  std::vector<WeightRecord> weights;
};

struct ExecutableFile {
  Executable executable;
  ModelSource source;
  std::string compiler;                                      // program and version that made it
  std::vector<std::pair<std::string, std::string>> options;  // of the compilation
  std::string module;  // text of the Module with its kernels formed: what a migration starts from
};

// The file's bytes; the same input gives the same bytes. InternalError for an executable that
// validate() refuses.
Result<std::vector<std::byte>> write_executable(const ExecutableFile& file);

// Reads a file image that `owner` keeps alive (constants stay views of it). Whatever is wrong with
// it is a UserError that names `source` and the section: another format, byte order or version,
// truncated, altered (by checksum), malformed, or refused by validate(). Machine code is not looked
// into: it is trusted as far as the file is.
Result<ExecutableFile> read_executable(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner,
                                       const std::string& source);

// The same without looking at checksums: for tests and fuzzing of what lies behind them.
Result<ExecutableFile> read_executable_unchecked(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner,
                                                 const std::string& source);

// Whether a file that starts with these bytes claims to be an executable.
bool looks_like_executable(std::span<const std::byte> bytes);

}  // namespace tapml
