#include "io/host/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tapml {

namespace {

namespace fs = std::filesystem;

// Whether this process is in a user namespace that maps only some users: the unmapped ones,
// possibly including root, all show as one user.
bool maps_some_users_only() {
  std::ifstream map("/proc/self/uid_map");
  uint64_t inside = 0, outside = 0, count = 0;
  if (!(map >> inside >> outside >> count)) return false;
  return inside != 0 || outside != 0 || count < 0xffffffff;
}

bool is_unmapped(uid_t user) {
  uid_t overflow = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> overflow;
  return user == overflow && maps_some_users_only();
}

// `itself`: the folder, not one of its parents.
std::optional<FolderFault> fault_of(const std::string& folder, bool itself) {
  struct stat info = {};
  if (::stat(folder.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return FolderFault{folder, folder + ": " + std::strerror(errno), ""};
  }
  if (!S_ISDIR(info.st_mode)) {
    return FolderFault{folder, itself ? "it is not a folder" : folder + " is not a folder", ""};
  }
  const bool own = info.st_uid == ::geteuid();
  const bool trusted = own || (!itself && (info.st_uid == 0 || is_unmapped(info.st_uid)));
  if (!trusted) return FolderFault{folder, folder + " belongs to another user", ""};
  const bool open = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (!open || (!itself && (info.st_mode & S_ISVTX) != 0)) return {};
  const bool all = (info.st_mode & S_IWOTH) != 0;
  return FolderFault{folder, (all ? "everybody may write to " : "its group may write to ") + folder,
                     "chmod go-w " + folder};
}

// From the folder upwards: inner folders are less trusted than the ones around them.
std::optional<FolderFault> fault_on_way(const fs::path& path) {
  bool itself = true;
  for (fs::path folder = path;; folder = folder.parent_path()) {
    if (auto fault = fault_of(folder.string(), itself)) return fault;
    itself = false;
    if (folder == folder.parent_path()) return {};
  }
}

}  // namespace

std::optional<FolderFault> find_folder_fault(const std::string& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error).lexically_normal();
  if (error) return FolderFault{path, path + ": " + error.message(), ""};
  if (!whole.has_filename()) whole = whole.parent_path();  // "folder/"
  if (auto fault = fault_on_way(whole)) return fault;
  const fs::path resolved = fs::weakly_canonical(whole, error);
  if (error) return FolderFault{path, path + ": " + error.message(), ""};
  return resolved == whole ? std::nullopt : fault_on_way(resolved);
}

}  // namespace tapml
