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
  // Starts recording saved files. UserError for a folder that cannot be watched.
  static Result<std::unique_ptr<FolderWatch>> open(const std::string& folder) noexcept;
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  // Names of the files that were written and closed, or moved into the folder, since the last call;
  // waits at most `longest` for the first. Empty: none, or a signal arrived. An empty name: the
  // system lost count of events.
  std::vector<std::string> wait(std::chrono::milliseconds longest) noexcept;

 private:
  explicit FolderWatch(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace tapml
