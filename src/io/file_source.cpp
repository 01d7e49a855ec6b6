#include "io/file_source.h"

namespace tapml {

Result<std::string> MemoryFiles::read(std::string_view name, size_t most) const {
  const auto found = files_.find(name);
  if (found == files_.end()) {
    return fail(user_error("there is no file " + path_of(name), name_, std::string(name),
                           std::to_string(files_.size()) + " other files"));
  }
  if (found->second.size() > most) {
    return fail(user_error(path_of(name) + " is too large", path_of(name),
                           "at most " + std::to_string(most) + " bytes",
                           std::to_string(found->second.size()) + " bytes"));
  }
  return found->second;
}

std::string MemoryFiles::path_of(std::string_view name) const {
  return name_ + "/" + std::string(name);
}

std::vector<std::string> MemoryFiles::list(std::string_view folder) const {
  const std::string prefix = std::string(folder) + "/";
  std::vector<std::string> names;
  for (const auto& [name, text] : files_) {
    if (name.starts_with(prefix)) names.push_back(name);
  }
  return names;
}

}  // namespace tapml
