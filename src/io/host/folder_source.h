// The files of a folder on disk.
#pragma once

#include <string>

#include "io/file_source.h"

namespace tapml {

class FolderSource final : public FileSource {
 public:
  explicit FolderSource(std::string folder) : folder_(std::move(folder)) {}

  bool has(std::string_view name) const override;
  Result<std::string> read(std::string_view name, size_t most) const override;
  std::string path_of(std::string_view name) const override;
  std::vector<std::string> list(std::string_view folder) const override;

 private:
  std::string folder_;
};

}  // namespace tapml
