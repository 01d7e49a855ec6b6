#include "topdown/migrate/several_targets.h"

#include <algorithm>
#include <cctype>

#include "ir/exceptions.h"
#include "topdown/faults/fault_kinds.h"

namespace tapml::topdown {

std::vector<std::string> target_folders(const std::vector<std::string>& targets) {
  std::vector<std::string> folders;
  for (auto target = targets.begin(); target != targets.end(); ++target) {
    if (std::find(targets.begin(), target, *target) != target) {
      throw_user("a target is given twice", "--to", "each platform once", *target);
    }
    std::string name;
    for (const char c : *target) {
      const bool kept = std::isalnum(static_cast<unsigned char>(c)) ||
                        std::string_view("._=").find(c) != std::string_view::npos;
      if (kept || !name.ends_with('-')) name += kept ? c : '-';
    }
    std::string folder = name;
    for (int number = 2; std::ranges::find(folders, folder) != folders.end(); ++number) {
      folder = name + "-" + std::to_string(number);
    }
    folders.push_back(std::move(folder));
  }
  return folders;
}

std::string target_fault(const std::string& text, const std::string& target,
                         const std::vector<std::string>& targets) {
  // A target with an endpoint may contain "/"; kernels and kinds do not.
  const size_t slash = text.rfind('/');
  const std::string of = text.substr(0, slash == std::string::npos ? 0 : slash);
  const std::string fault = slash == std::string::npos ? text : text.substr(slash + 1);
  if (fault.empty() && of.empty()) return "";
  parse_fault(fault);
  if (slash == std::string::npos) return fault;
  if (std::ranges::find(targets, of) == targets.end()) {
    std::string known;
    for (const std::string& one : targets) known += (known.empty() ? "" : ", ") + one;
    throw_user("the fault is for a platform that is not a target", "--inject-fault " + text,
               "KERNEL:KIND, or TARGET/KERNEL:KIND with one of " + known, "\"" + of + "\"");
  }
  return of == target ? fault : "";
}

}  // namespace tapml::topdown
