// Options of a migration to several targets.
#pragma once

#include <string>
#include <vector>

namespace tapml::topdown {

// A folder name for each target, in their order: its text with "-" for every character but letters,
// digits and "._=", and a number appended if an earlier target has that name. UserError for a
// duplicate target.
std::vector<std::string> target_folders(const std::vector<std::string>& targets);

// The fault that `text` injects into `target`, as KERNEL:KIND: "KERNEL:KIND" applies to every
// target, "TARGET/KERNEL:KIND" to that target alone; empty: none. UserError for a target that is
// not in `targets`, and for an unknown kind.
std::string target_fault(const std::string& text, const std::string& target,
                         const std::vector<std::string>& targets);

}  // namespace tapml::topdown
