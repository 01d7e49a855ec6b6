// What a migration has done so far, kept in a folder: an interrupted one goes on from there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topdown/migrate/migrate.h"

namespace tapml::topdown {

// What has to be the same for earlier steps to count, by name, in the order in which differences
// are reported.
using MigrationIdentity = std::vector<std::pair<std::string, std::string>>;

// Of kernels, calls and the contents of their tensors; of weights by name; of what a target runs.
std::string suite_hash(const Suite& suite);
std::string weights_hash(const std::map<std::string, HostTensor>& weights);
std::string code_hash(const Executable& executable);

// state.json in a folder. Throws UserError and, for a full disk, PlatformError.
class MigrationState {
 public:
  // Takes up what the folder holds. UserError for the state of another migration, which says what
  // differs, and for a file that is none. Steps that were made with other code than `code` do not
  // count: their kernels are tried again.
  static MigrationState open(const std::string& folder, MigrationIdentity identity,
                             const std::string& code);

  // The steps of a unit in the order of `kernels`; empty unless all of them are done.
  std::vector<MigrationStep> steps_of(const std::string& unit,
                                      const std::vector<std::string>& kernels) const;
  // Keeps them: the file is written whole or not at all.
  void add(const std::vector<MigrationStep>& steps);

 private:
  MigrationState(std::string file, MigrationIdentity identity, std::string code)
      : file_(std::move(file)), identity_(std::move(identity)), code_(std::move(code)) {}
  void read(const std::string& text);

  std::string file_;
  MigrationIdentity identity_;
  std::string code_;
  std::vector<MigrationStep> steps_;
};

}  // namespace tapml::topdown
