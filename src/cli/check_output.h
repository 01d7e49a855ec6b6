// Rejects unwritable outputs before any work is done for them.
#pragma once

#include <string>

namespace tapml::cli {

// Makes the folder of a report, and checks that a file can be written there. Does nothing for an
// empty name. UserError or, for a full disk, PlatformError.
void check_report_folder(const std::string& folder);

// Checks that a folder can be made at `path`, or exists and is writable; makes none.
void check_future_folder(const std::string& path);

// UserError if the folder cannot become a package: it holds something else, or is a file.
void check_package_folder(const std::string& path);

}  // namespace tapml::cli
