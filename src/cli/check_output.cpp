#include "cli/check_output.h"

#include <filesystem>

#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/package.h"

namespace tapml::cli {

void check_report_folder(const std::string& folder) {
  if (folder.empty()) return;
  unwrap(make_folder(folder));
  unwrap(check_writable(folder + "/report.html"));
}

void check_future_folder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path there = std::filesystem::absolute(path, ignored).lexically_normal();
  while (there.has_relative_path() && !std::filesystem::exists(there, ignored)) {
    there = there.parent_path();
  }
  if (!std::filesystem::is_directory(there, ignored)) {
    throw_user("cannot make the folder " + path, path, "a path where folders can be made",
               there.string() + " is a file");
  }
  unwrap(check_writable((there / "tapml").string()));
}

void check_package_folder(const std::string& path) {
  check_future_folder(path);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored) || llm::is_package(path)) return;
  if (std::filesystem::is_empty(path, ignored)) return;
  throw_user(
      path + " contains files that are not a package", path,
      "a new or empty folder, or a package, which is replaced",
      std::filesystem::exists(path + "/config.json", ignored) ? "a model directory" : "other files",
      "give another folder");
}

}  // namespace tapml::cli
