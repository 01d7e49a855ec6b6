// A private folder for the files of another program.
#pragma once

#include <string>

#include "base/result.h"

namespace tapml {

// Exists in the system's folder for temporary files, with a name that begins with `tapml-PURPOSE-`,
// and is removed at the end of its scope.
class ScratchFolder {
 public:
  // UserError if it cannot be created.
  static Result<ScratchFolder> create(const std::string& purpose);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace tapml
