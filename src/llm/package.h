// A model as an application ships it (docs/executable-format.md, "Packages"): one folder with the
// executable, its weights as the executable takes them, and the tokenizer.
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
  std::string tokenizer_folder;
};

// Writes the folder, which may be there already, and returns its bytes. Its list of files comes
// last, so that a folder that was left half written is refused. UserError for a weight that is
// missing and for what cannot be written.
Result<int64_t> write_package(const std::string& folder, const PackageContents& contents);

struct Package {
  ExecutableFile file;
  std::map<std::string, HostTensor> weights;  // views of the mapped file
  std::vector<int32_t> end_tokens;
  Tokenizer tokenizer;
};

// Whether the folder has a package's list of files.
bool is_package(const std::string& folder);

// Reads and checks a package: every byte, by checksum, but not what its code does. UserError for a
// file that is missing, cut off, altered, of another version, or that the list does not have.
Result<Package> read_package(const std::string& folder);

}  // namespace tapml::llm
