// What a migration has done so far, kept in a folder: an interrupted one goes on from there.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topdown/results/migration.h"

namespace tapml::topdown {

// What has to be the same for earlier steps to count, by name, in the order in which differences
// are reported.
using MigrationIdentity = std::vector<std::pair<std::string, std::string>>;

// What a target runs, by kernel: its code_digest(), and the device with its driver, which may have
// compiled that code.
using CodeDigests = std::map<std::string, std::string>;
CodeDigests code_digests(const Executable& executable, const DeviceInfo& device);

// state.json in a folder. Throws UserError and, for a full disk, PlatformError.
class MigrationState {
 public:
  // Takes up what the folder holds. UserError for the state of another migration, which says what
  // differs, and for a file that is none. Steps of kernels that have other code now than in `code`
  // do not count, nor do those that crashed or did not end, for which there are reasons outside of
  // the kernel: these are tried again, with all before them that have moved.
  static MigrationState open(const std::string& folder, MigrationIdentity identity,
                             CodeDigests code);

  // Whether the folder's state, if there is one, is of a migration with this part of its identity:
  // UserError as of open() where not. Changes nothing.
  static void check(const std::string& folder, const MigrationIdentity& part);

  // The steps of a unit in the order of `kernels`; empty unless all of them are done.
  std::vector<MigrationStep> steps_of(const std::string& unit,
                                      const std::vector<std::string>& kernels) const;
  // Keeps them: the file is written whole or not at all.
  void add(const std::vector<MigrationStep>& steps);

  // Layers count as long as every step does: none is there where one is tried again.
  const std::vector<LayerStep>& layers() const { return layers_; }
  const LayerStep* layer(const std::string& name) const;  // null: it is not done
  // Keeps it with the steps of its kernels, which it may have changed.
  void add(const LayerStep& layer, const std::vector<MigrationStep>& steps);

 private:
  MigrationState(std::string file, MigrationIdentity identity, CodeDigests code)
      : file_(std::move(file)), identity_(std::move(identity)), code_(std::move(code)) {}
  void read(const std::string& text);
  std::string code_of(const MigrationStep& step) const;  // empty: none is known

  std::string file_;
  MigrationIdentity identity_;
  CodeDigests code_;
  std::vector<MigrationStep> steps_;
  std::vector<LayerStep> layers_;
};

}  // namespace tapml::topdown
