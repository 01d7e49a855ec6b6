// The finished steps of a migration, kept in a folder so that an interrupted one can continue.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "topdown/results/migration.h"

namespace tapml::topdown {

// Names and values that must be the same for earlier steps to count, in the order in which
// differences are reported.
using MigrationIdentity = std::vector<std::pair<std::string, std::string>>;

// The code that a target runs, by kernel: its code_digest(), and the device with its driver, which
// may have compiled that code.
using CodeDigests = std::map<std::string, std::string>;
CodeDigests code_digests(const Executable& executable, const DeviceInfo& device);

// state.json in a folder. Throws UserError and, for a full disk, PlatformError.
class MigrationState {
 public:
  // Reads the folder's state. UserError, with the difference, for the state of another migration,
  // and for a malformed file. Steps do not count if their kernels' code is not that in `code`, or
  // if they crashed or hung, which may have reasons outside the kernel: these are tried again, with
  // the kernels that moved before them on the target.
  static MigrationState open(const std::string& folder, MigrationIdentity identity,
                             CodeDigests code);

  // UserError as in open() if the folder has the state of a migration without this part of its
  // identity. Changes nothing.
  static void check(const std::string& folder, const MigrationIdentity& part);

  // The steps of a unit in the order of `kernels`; empty unless all of them are done.
  std::vector<MigrationStep> steps_of(const std::string& unit,
                                      const std::vector<std::string>& kernels) const;
  // Keeps the steps; the file is written whole or not at all.
  void add(const std::vector<MigrationStep>& steps);

  // Layers count as long as every step does; there are none if a step is tried again.
  const std::vector<LayerStep>& layers() const { return layers_; }
  const LayerStep* layer(const std::string& name) const;  // null: it is not done
  // Keeps the layer with the steps of its kernels, which it may have changed.
  void add(const LayerStep& layer, const std::vector<MigrationStep>& steps);

 private:
  MigrationState(std::string file, MigrationIdentity identity, CodeDigests code)
      : file_(std::move(file)), identity_(std::move(identity)), code_(std::move(code)) {}
  void read(const std::string& text);
  std::string code_of(const MigrationStep& step) const;  // empty: unknown

  std::string file_;
  MigrationIdentity identity_;
  CodeDigests code_;
  std::vector<MigrationStep> steps_;
  std::vector<LayerStep> layers_;
};

}  // namespace tapml::topdown
