// Folders that nobody but this user and root can write to.
#pragma once

#include <optional>
#include <string>

namespace tapml {

struct FolderFault {
  std::string folder;  // the one at fault: the folder itself, or one on the way to it
  std::string reason;  // "everybody may write to /srv"
  std::string hint;    // what helps; empty where nothing simple does
};

// Why another user could write to `path` or put something else in its place; nothing where only
// this user and root can. The folder is this user's and nobody else may write to it. Each folder on
// the way to it, as it is written and with its links resolved, is this user's or root's and is not
// writable for its group or for others, unless it is sticky (as /tmp is). The last parts of the
// path need not be there yet.
std::optional<FolderFault> find_folder_fault(const std::string& path);

}  // namespace tapml
