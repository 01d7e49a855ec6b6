// Checks that only this user and root can write to a folder.
#pragma once

#include <optional>
#include <string>

namespace tapml {

struct FolderFault {
  std::string folder;  // the folder at fault: the folder itself, or one of its parents
  std::string reason;  // "everybody may write to /srv"
  std::string hint;    // a remedy; empty if there is no simple one
};

// Why another user could write to `path` or replace it; empty if only this user and root can. The
// folder must belong to this user, and nobody else may write to it. Each of its parents, along the
// path as written and with links resolved, must belong to this user or root and must not be
// writable for its group or others, unless it is sticky (like /tmp). The last parts of the path
// need not exist yet.
std::optional<FolderFault> find_folder_fault(const std::string& path);

}  // namespace tapml
