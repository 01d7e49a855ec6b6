// Libraries whose routines implement kernels on the cpu: tapml's own adapters, and the user's
// shared objects (include/tapml/library.h).
#pragma once

#include <tapml/library.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/routine_signature.h"

namespace tapml::device {

// A library's table of routines, and the owner that keeps it loaded.
class HostLibrary {
 public:
  // Loads a shared object. UserError for a file that is not one, lacks tapml_library_entry, has
  // another interface version, or has an invalid table.
  static Result<std::shared_ptr<const HostLibrary>> load(const std::string& path) noexcept;
  // The same for a table of this program.
  static Result<std::shared_ptr<const HostLibrary>> wrap(const tapml_library* table,
                                                         const std::string& where) noexcept;
  ~HostLibrary();
  HostLibrary(const HostLibrary&) = delete;
  HostLibrary& operator=(const HostLibrary&) = delete;

  std::string name() const { return table_->name; }
  // The signatures of the routines, by name.
  const std::map<std::string, RoutineSignature>& routines() const { return signatures_; }
  const tapml_library& table() const { return *table_; }
  const tapml_routine* find(const std::string& routine) const;  // null: not found

 private:
  HostLibrary() = default;
  // Checks the table and parses its signatures.
  Status take(const tapml_library* table, const std::string& where);
  const tapml_library* table_ = nullptr;
  std::map<std::string, RoutineSignature> signatures_;
  void* handle_ = nullptr;
};

using HostLibraries = std::vector<std::shared_ptr<const HostLibrary>>;

// tapml's own adapters by name. PlatformError (kAbsent) for a library that this build does not
// support.
Result<std::shared_ptr<const HostLibrary>> built_in_library(const std::string& name) noexcept;
// Their names.
std::vector<std::string> built_in_libraries();
// Whether this machine has the library that the adapter of this name loads.
bool is_library_installed(const std::string& name) noexcept;

}  // namespace tapml::device
