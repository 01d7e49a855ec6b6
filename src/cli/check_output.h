// Refuses what cannot be written before any work is done for it.
#pragma once

#include <string>

namespace tapml::cli {

// Makes the folder of a report, and finds out whether a file can be written there. Nothing for an
// empty name. UserError or, for a full disk, PlatformError.
void check_report_folder(const std::string& folder);

// Whether a folder can be made at `path`, or is there and can be written; makes none.
void check_future_folder(const std::string& path);

// UserError where a folder is no place for a package: it holds something else, or is a file.
void check_package_folder(const std::string& path);

}  // namespace tapml::cli
