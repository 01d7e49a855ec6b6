#include "io/host/folder_source.h"

#include <filesystem>

#include "io/host/files.h"

namespace tapml {

namespace fs = std::filesystem;

bool FolderSource::has(std::string_view name) const {
  std::error_code ignored;
  return fs::exists(path_of(name), ignored);
}

Result<std::string> FolderSource::read(std::string_view name, size_t most) const {
  return read_text_file(path_of(name), most);
}

std::string FolderSource::path_of(std::string_view name) const {
  return folder_ + "/" + std::string(name);
}

std::vector<std::string> FolderSource::list(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(path_of(folder), error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(std::string(folder) + "/" + it->path().filename().string());
  }
  return names;
}

}  // namespace tapml
