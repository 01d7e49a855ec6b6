// A model for use by an application (docs/executable-format.md, "Packages"): one folder with the
// executable, its weights in the executable's layout, the tokenizer, and the files that say how
// images are prepared.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/executable_file.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::llm {

struct PackageContents {
  ExecutableFile file;                        // without a source: a package has its own weights
  std::map<std::string, HostTensor> weights;  // at least those of the model interface
  std::vector<int32_t> end_tokens;
  std::string model_folder;  // with the tokenizer, and what images need
  // Texts of the files that such a folder would have, by name, if there is none.
  std::map<std::string, std::string> files = {};
};

// Writes the folder, which may exist, and returns its size in bytes. The list of files is written
// last, so that an incomplete folder is refused. UserError for a missing weight and for a file that
// cannot be written.
Result<int64_t> write_package(const std::string& folder, const PackageContents& contents);

struct Package {
  ExecutableFile file;
  std::map<std::string, HostTensor> weights;  // views of the mapped file
  std::vector<int32_t> end_tokens;
  Tokenizer tokenizer;
};

// Whether the folder has a package's list of files.
bool is_package(const std::string& folder);

// Reads a package and verifies every byte by checksum, but not what its code does. UserError for a
// file that is missing, truncated, altered, of another version, or not in the list.
Result<Package> read_package(const std::string& folder);

}  // namespace tapml::llm
