// What the options of a migration mean where it has several targets.
#pragma once

#include <string>
#include <vector>

namespace tapml::topdown {

// A folder's name for each target, in their order: its text with "-" for what is no letter, digit
// or one of "._="; with a number behind it where one before it has that name. UserError for a
// target that is there twice.
std::vector<std::string> target_folders(const std::vector<std::string>& targets);

// What a bug's text plants into `target`, as KERNEL:KIND: that of "KERNEL:KIND" into every target,
// of "TARGET/KERNEL:KIND" into that target alone; empty: nothing. UserError for a target that is
// none of `targets`, and for an unknown kind.
std::string target_fault(const std::string& text, const std::string& target,
                         const std::vector<std::string>& targets);

}  // namespace tapml::topdown
