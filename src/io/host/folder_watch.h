// Waits for files of a folder to be saved.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace tapml {

class FolderWatch {
 public:
  // From now on saved files are noted. UserError for a folder that cannot be watched.
  static Result<std::unique_ptr<FolderWatch>> open(const std::string& folder) noexcept;
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Names of files that were written and closed, or moved there, since the last call; waits at most
  // `longest` for the first. Empty: none, or a signal came. More than the system kept count of: "".
  std::vector<std::string> wait(std::chrono::milliseconds longest) noexcept;

 private:
  explicit FolderWatch(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tapml
