#include "io/host/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tapml {

Result<ScratchFolder> ScratchFolder::create(const std::string& purpose) {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  std::string path =
      (error ? std::filesystem::path("/tmp") : base).string() + "/tapml-" + purpose + "-XXXXXX";
  if (!::mkdtemp(path.data())) {
    return fail(user_error("cannot create a temporary folder: " + std::string(std::strerror(errno)),
                           path, "a folder that can be written to", "",
                           "set TMPDIR to another folder"));
  }
  return ScratchFolder(std::move(path));
}

ScratchFolder::~ScratchFolder() {
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tapml
